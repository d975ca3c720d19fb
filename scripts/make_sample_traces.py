#!/usr/bin/env python3
"""Records the runs in sample_traces/ anew: `python3 scripts/make_sample_traces.py`.

Each run is made in a directory of neutral name with an environment of its own, so that a recording,
which is kept exactly as it was written, holds no path, user or host name of the machine; that is
checked at the end. For root the host is called node01 in the recording. Needs what `make demo`
needs.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DESTINATION = ROOT / "sample_traces"
SYSTEM_PYTHON = Path("/usr/bin/python3")
NEUTRAL_PLACE = Path("/tmp/perfscope-samples")
HOST = "node01"
LOG = "program.jsonl"
SIZE_LIMIT_BYTES = 1_000_000


@dataclass(frozen=True)
class Sample:
    """One recording: how it is made and what a reader should know about it."""

    name: str
    ranks: int
    options: tuple[str, ...]
    wrong: str
    expected: str

    @property
    def program(self) -> list[str]:
        """The command that is recorded."""
        launcher = ["mpirun", "-n", str(self.ranks), "python"]
        return [*launcher, "train_numpy.py", *self.options, "--log", LOG]


SAMPLES = (
    Sample(
        name="rank_zero_evaluation",
        ranks=2,
        options=("--epochs", "8"),
        wrong="After each epoch rank 0 evaluates alone, while rank 1 waits for it in the next "
        "`MPI_Allreduce`. There is no marker in the program.",
        expected="The verdict names the evaluation on rank 0, `evaluate` in `train_numpy.py`, and "
        "its predicted gain is the time of all evaluations on rank 0.",
    ),
)


class SampleError(Exception):
    """A recording could not be made or may not be published; the text says why."""


def main() -> int:
    """Makes all recordings, or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--python", type=Path, default=default_python(), help="for the runs")
    arguments = parser.parse_args()
    if NEUTRAL_PLACE.exists():
        print(f"{NEUTRAL_PLACE} exists: remove it first", file=sys.stderr)
        return 1
    NEUTRAL_PLACE.mkdir()
    try:
        make_environment(arguments.python)
        for sample in SAMPLES:
            if not arguments.names or sample.name in arguments.names:
                make(sample)
    except SampleError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(NEUTRAL_PLACE)
    return 0


def default_python() -> Path:
    """The system's Python, whose paths are the same everywhere, else this one."""
    return SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable)


def make_environment(python: Path) -> None:
    """Installs perfscope from this checkout with MPI at the neutral place."""
    environment = NEUTRAL_PLACE / "env"
    run([str(python), "-m", "venv", str(environment)])
    run([str(environment / "bin" / "pip"), "install", "--quiet", f"{ROOT}[mpi]"])


def make(sample: Sample) -> None:
    """Records one sample, checks it and puts it where the old one was."""
    place = NEUTRAL_PLACE / sample.name
    place.mkdir()
    for name in ("train_numpy.py", "trainer"):
        copy = shutil.copytree if name == "trainer" else shutil.copy2
        copy(ROOT / "examples" / name, place / name)
    record = ["perfscope", "run", "--", *sample.program]
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = f"hostname {HOST} && exec {shlex.join(record)}"
        record = ["unshare", "--uts", "sh", "-c", script]
    run(record, cwd=place, environment=neutral_environment())
    trace = place / "trace"
    known = known_values(place / LOG)
    (trace / "known_values.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    (trace / "README.md").write_text(readme(sample, known), encoding="utf-8")
    check(trace)
    destination = DESTINATION / sample.name
    shutil.rmtree(destination, ignore_errors=True)
    shutil.copytree(trace, destination)
    print(f"{destination.relative_to(ROOT)}: {size(destination)} bytes")


def neutral_environment() -> dict[str, str]:
    """Environment variables that tell nothing about this machine or its user."""
    search = f"{NEUTRAL_PLACE}/env/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {"PATH": search, "HOME": str(NEUTRAL_PLACE), "LANG": "C.UTF-8"}


def run(
    command: list[str], *, cwd: Path = NEUTRAL_PLACE, environment: dict[str, str] | None = None
) -> None:
    """Runs a step; raises with its output when it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SampleError(f"failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")


def known_values(log: Path) -> dict[str, object]:
    """What the program measured itself: seconds of each part by rank, steps, and its result."""
    seconds: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    steps, result = 0, {}
    for line in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
        for part, value in line.get("seconds", {}).items():
            seconds[part][line["rank"]] += value
        steps = max(steps, line.get("step", 0))
        if line["rank"] == 0 and "loss" in line:
            result = {key: line[key] for key in ("loss", "accuracy", "training_s")}
    ranks = sorted({rank for by_rank in seconds.values() for rank in by_rank})
    return {
        "steps": steps,
        "seconds_by_rank": {
            part: [round(by_rank.get(rank, 0.0), 6) for rank in ranks]
            for part, by_rank in seconds.items()
        },
        **result,
    }


def readme(sample: Sample, known: dict[str, object]) -> str:
    """What a reader of the recording should know, as Markdown."""
    seconds = known["seconds_by_rank"]
    assert isinstance(seconds, dict)
    header = " | ".join(f"rank {rank}" for rank in range(sample.ranks))
    rows = [
        f"| {part} | " + " | ".join(f"{value:.3f}" for value in values) + " |"
        for part, values in seconds.items()
    ]
    table = "\n".join([f"| seconds in | {header} |", "|---|" + "---|" * sample.ranks, *rows])
    return f"""# {sample.name}

Machine: {os.cpu_count()} cores, {platform.machine()}, Linux; everything on one node.

Command, with the program of examples/:

    perfscope run -- {shlex.join(sample.program)}

What is wrong on purpose: {sample.wrong}

What the report should say: {sample.expected}

Known values, by the program's own clock (known_values.json): {known["steps"]} steps in
{known["training_s"]:.2f} s.

{table}

Recorded by `python3 scripts/make_sample_traces.py`; nothing was changed afterwards.
"""


def check(trace: Path) -> None:
    """Refuses a recording that is too large or holds words that belong to this machine or user."""
    if size(trace) > SIZE_LIMIT_BYTES:
        raise SampleError(f"{trace}: {size(trace)} bytes, more than {SIZE_LIMIT_BYTES}")
    words = sorted({word for word in private_words() if len(word) > 3})
    for path in (path for path in trace.rglob("*") if path.is_file()):
        content = path.read_bytes()
        found = [word for word in words if word.encode() in content]
        if found:
            raise SampleError(f"{path} holds {found}")


def private_words() -> Iterator[str]:
    """Names that must not be published: the checkout, the home, the user, the host, secrets."""
    yield from (str(ROOT), str(Path.home()), socket.gethostname(), getpass.getuser())
    secret = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
    yield from (value for name, value in os.environ.items() if any(s in name for s in secret))


def size(directory: Path) -> int:
    """Bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
