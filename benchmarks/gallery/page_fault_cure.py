"""Holds what is said of page faults to their cure: `python -m benchmarks.gallery page_faults`.

Each program of unseen/ is recorded with its fault, then run without a recording, once as it is and
once with the variables that the finding advises. CPU time in the kernel is compared, which other
processes change less than elapsed time.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.gallery.unseen_runs import (
    LONGEST_RUN_S,
    Heard,
    Program,
    job_of,
    programs,
    run_program,
)
from benchmarks.jobs import RunError, prefix
from benchmarks.machine import describe
from perfscope.findings.memory import page_faults
from perfscope.schema.enums import LossKind

HEAD = (
    "| program | in the loss account | claimed by the finding | less CPU time in the kernel |\n"
    "|---|---|---|---|"
)


def main(words: list[str]) -> int:
    """Prints a row a program, in seconds of each rank; 0 where all ran."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gallery page_faults", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="programs that match this pattern"
    )
    asked = parser.parse_args(words)
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"{describe()}\n\n{HEAD}", flush=True)
    failed = 0
    for program in programs(asked.only):
        if not (prefix(program.environment) / "bin").exists():
            continue
        try:
            print(_row(program), flush=True)
        except RunError as error:
            failed += 1
            print(f"{program.name}: {error}", file=sys.stderr)
    return 1 if failed else 0


def _row(program: Program) -> str:
    with tempfile.TemporaryDirectory(prefix="page-faults-") as place:
        os.environ["TMPDIR"] = place
        heard = run_program(program, cured=False, place=Path(place) / "recording")
        less_s = _kernel_s(program, {}) - _kernel_s(program, cure())
    lost_s, claimed_s = said(heard, program.processes)
    claim = "nothing" if claimed_s is None else f"{claimed_s:.1f} s"
    healthy = "" if program.code else " (healthy)"
    return (
        f"| `{program.name}`{healthy} | {lost_s:.1f} s | {claim} "
        f"| {less_s / program.processes:.1f} s |"
    )


def said(heard: Heard, ranks: int) -> tuple[float, float | None]:
    """Seconds of each rank in the loss account, and those that the finding claims; None: none."""
    kind = LossKind.PAGE_FAULTS.value
    lost_ns = sum(entry["own_ns"] for entry in heard.losses if entry["kind"] == kind)
    claims = [found["gain_s"] for found in heard.loud if found["id"] == page_faults.DIAGNOSIS.id]
    return lost_ns / ranks * 1e-9, claims[0] if claims else None


def cure() -> Mapping[str, str]:
    """The variables that the finding advises."""
    return dict(one.split("=", 1) for one in page_faults.SETTINGS)


def _kernel_s(program: Program, variables: Mapping[str, str]) -> float:
    """CPU time in the kernel of a run of all ranks."""
    job, search = job_of(program)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    try:
        done = subprocess.run(
            job,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=LONGEST_RUN_S,
            env={**os.environ, **variables, "PATH": search},
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"{program.name} did not end in {LONGEST_RUN_S:.0f} s") from None
    if done.returncode:
        raise RunError(f"{program.name} ended with {done.returncode}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before
