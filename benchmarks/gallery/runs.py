"""Records the runs of the gallery and reads what their reports say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gallery.cases import Case

ROOT = Path(__file__).resolve().parents[2]
LONGEST_RUN_S = 240.0
FAULTS = {"fail", "warn"}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
Json = dict[str, Any]


class RunError(Exception):
    """A run or its analysis failed; the message shows its last words."""


@dataclass(frozen=True)
class Told:
    """What the report of one run says.

    Attributes:
        faults: findings that fail or warn, by id.
        focus_s: length of the focus of analysis.
        top: the finding that the verdict names first; "" none.
    """

    faults: dict[str, Json]
    focus_s: float
    top: str


def record(
    environment: str,
    words: list[str],
    *,
    ranks: int,
    place: Path,
    wrapper: tuple[str, ...] = (),
) -> Told:
    """Records a program of examples/ and analyses the recording.

    Args:
        environment: below .envs/, whose Python and mpirun are used.
        words: the script and its options.
        ranks: started by mpirun; 0: without it.
        place: where the recording goes; must not exist.
        wrapper: words before Python.

    Raises:
        RunError: one of both failed.
    """
    binaries = prefix(environment) / "bin"
    start = [str(binaries / "mpirun"), "-n", str(ranks)] if ranks else []
    job = [*start, *wrapper, str(binaries / "python"), *words]
    search = f"{binaries}:{os.environ['PATH']}"
    _perfscope("run", "--quiet", "--output", str(place), "--", *job, search=search)
    document = json.loads(_perfscope("analyze", str(place), "--json"))
    found = {f["id"]: f for f in document["findings"] if f["status"] in FAULTS}
    begin, end = document["run"]["focus_of_analysis_s"]
    top = document["verdict"]["top"]
    return Told(found, end - begin, top[0] if top else "")


def prefix(environment: str) -> Path:
    """Where an environment is."""
    place = os.environ.get(f"PERFSCOPE_ENV_{environment.upper()}")
    return Path(place) if place else ROOT / ".envs" / environment


def run_case(case: Case, *, cured: bool, place: Path) -> Told:
    """Runs a case with its fault, or cured; its files go to a directory.

    Raises:
        RunError: the run or its analysis failed.
    """
    options = case.after if cured else case.before
    return record(
        case.environment,
        [
            str(ROOT / "examples" / case.script),
            *(word.replace("{place}", str(place)) for word in options),
        ],
        ranks=case.ranks_started,
        place=place / ("cured" if cured else "sick"),
        wrapper=() if cured else case.wrapper,
    )


def _perfscope(*words: str, search: str = "") -> str:
    script = Path(sys.executable).with_name("perfscope")
    try:
        done = subprocess.run(
            [str(script), *words],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=LONGEST_RUN_S,
            env={**os.environ, **AS_ROOT, "PATH": search or os.environ["PATH"]},
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"perfscope {words[0]} did not end in {LONGEST_RUN_S:.0f} s") from None
    if done.returncode:
        raise RunError(f"perfscope {words[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout
