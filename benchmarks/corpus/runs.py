"""One program of the corpus, unrecorded and recorded, and what the two runs tell."""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.jobs import AS_ROOT, prefix

PROGRAMS = Path(__file__).parent / "programs"
LONGEST_S = 600.0
TRIES = 3
"""Of a program by itself: one of PyTorch aborts in one of twenty runs as its process group ends."""

TIMED = re.compile(rb"^(seconds|samples/s) .*$|\[(\d{4}-\d\d-\d\d )?\d\d:[\d:,]+\]", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program and how its users start it."""

    name: str  # its file, without the ending
    style: str  # the public programs whose structure it has
    environment: str  # where its packages are
    # the words before Python's, of that environment; empty: Python alone
    launcher: tuple[str, ...] = ()
    ranks: int = 1  # how many it has
    shell: str = ""  # a line of the shell that starts `"$@"`, where that is what the user types

    def command(self) -> list[str]:
        """What the user types."""
        place = prefix(self.environment) / "bin"
        script = str(PROGRAMS / f"{self.name}.py")
        if self.shell:
            return ["sh", "-c", self.shell, "sh", str(place / "python"), script]
        if not self.launcher:
            return [str(place / "python"), script]
        first = str(place / self.launcher[0])
        python = [] if self.launcher[0] == "torchrun" else [str(place / "python")]
        return [first, *self.launcher[1:], *python, script]


@dataclass(frozen=True)
class Ran:
    """A finished command: what it printed on stdout, its exit code, the CPU seconds it used."""

    stdout: bytes
    exit_code: int
    cpu_s: float

    def said(self, word: str) -> float | None:
        """The number behind a word that the program prints at the beginning of a line."""
        found = re.search(rf"^{re.escape(word)} ([0-9.]+)$", self.stdout.decode(), re.MULTILINE)
        return float(found[1]) if found else None


@dataclass(frozen=True)
class Outcome:
    """What the two runs of a program tell."""

    program: Program  # the program
    is_same: bool  # same output, times left out, and same exit code
    # CPU seconds that recording added, as a share of those without, median of the pairs of runs
    overhead: float
    ranks: int  # ranks that were found
    steps: tuple[int, float | None]  # steps that were found, and that the program counted
    samples_per_s: tuple[float | None, float | None]  # the same of samples a second
    unlabeled: float | None  # share of the ranks' time that no cause is known of
    loud: tuple[str, ...]  # findings that call for a change
    verdict: str  # the first sentence of the result


def measure(program: Program, *, pairs: int = 1) -> Outcome:
    """Runs a program in pairs, without and with perfscope, and reads what it says of the last."""
    perfscope = str(Path(sys.executable).with_name("perfscope"))
    is_same, overheads = True, []
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for number in range(pairs):
            plain = _unrecorded(program, folder)
            recording = str(Path(folder) / f"run-{number}")
            recorded = _run([perfscope, "run", "-o", recording, "--", *program.command()], folder)
            is_same &= _is_same(plain, recorded, program.ranks)
            overheads.append(recorded.cpu_s / plain.cpu_s - 1 if plain.cpu_s else 0.0)
        document = _analyzed([perfscope, "analyze", recording], folder)
        rated = document
        if focus := _of_the_same_steps(recorded):
            rated = _analyzed([perfscope, "analyze", recording, "--foa", focus], folder)
    return Outcome(
        program=program,
        is_same=is_same,
        overhead=statistics.median(overheads),
        ranks=int(document["run"]["ranks"]),
        steps=(int(document["steps"]["count"]), recorded.said("steps")),
        samples_per_s=(
            rated["run"]["throughput"]["samples_per_s"]["value"],
            recorded.said("samples/s"),
        ),
        unlabeled=document["unlabeled"]["share"],
        loud=tuple(one["id"] for one in document["findings"] if one["status"] == "fail"),
        verdict=document["verdict"]["sentence"],
    )


def _unrecorded(program: Program, folder: str) -> Ran:
    """The program by itself; again where it ends with an error, which it may do by chance."""
    ran = _run(program.command(), folder)
    for _ in range(TRIES - 1):
        if ran.exit_code == 0:
            break
        ran = _run(program.command(), folder)
    return ran


def _analyzed(command: list[str], folder: str) -> dict[str, Any]:
    _run(command, folder)
    path = Path(command[2]) / "analysis.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _of_the_same_steps(recorded: Ran) -> str:
    """The window whose rate is that of the steps that the program measures; empty for all.

    The first step of a window is no part of its rate.
    """
    first, steps = recorded.said("rate from step"), recorded.said("steps")
    if first is None or steps is None or first < 1:
        return ""
    return f"step:{first - 1:.0f}-{steps - 1:.0f}"


def _variables() -> dict[str, str]:
    """Those of the job; Python keeps what it compiles there, as it does for most users."""
    found = {**os.environ, **AS_ROOT, "TF_CPP_MIN_LOG_LEVEL": "3"}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def _is_same(one: Ran, other: Ran, ranks: int) -> bool:
    """Whether two runs have the same exit code and, times left out, the same output.

    Lines of several ranks come in any order, and those that C code writes in parts run into each
    other: of the lines that only one of the outputs has, the words are compared then.
    """
    texts = [TIMED.sub(b"", ran.stdout).splitlines() for ran in (one, other)]
    mine, its = (Counter(filter(None, lines)) for lines in texts)
    only = [sorted((left - right).elements()) for left, right in ((mine, its), (its, mine))]
    words = [sorted(b" ".join(lines).split()) for lines in only]
    is_same = only[0] == only[1] or (ranks > 1 and _run_together(only) and words[0] == words[1])
    return is_same and one.exit_code == other.exit_code


def _run_together(only: Sequence[Sequence[bytes]]) -> bool:
    """Whether lines of one output have run into each other in the other: some are longer there."""
    longest = [max(map(len, lines), default=0) for lines in only]
    return longest[0] != longest[1]


def _run(command: list[str], folder: str) -> Ran:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        timeout=LONGEST_S,
        env=_variables(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(done.stdout, done.returncode, spent)
