"""Starts the example trainer, alone or recorded, and reads what it says."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import environments, recording
from tests.support.environments import REPOSITORY

SCRIPT = REPOSITORY / "examples" / "train_numpy.py"
RESULT = re.compile(r"^result: loss \S+  accuracy (\S+)  seconds \S+", re.MULTILINE)

# A step of a few milliseconds: learning to 90 % takes some seconds on two ranks.
SMALL = ("--hidden", "128", "--batch", "64", "--samples", "4096", "--evaluate-samples", "1024")
WORK_PARTS = ("input", "forward", "backward", "optimizer", "evaluate", "checkpoint")
TINY = ("--hidden", "16", "--batch", "16", "--samples", "512", "--evaluate-samples", "256")


@dataclass(frozen=True)
class Outcome:
    """What one run of the trainer printed and logged."""

    output: str
    accuracy: float | None
    log: list[dict[str, Any]]

    @property
    def losses(self) -> dict[int, float]:
        """The exact final loss by rank."""
        return {line["rank"]: line["loss"] for line in self.log if "loss" in line}

    def training_s(self, *, rank: int) -> float:
        """Seconds of the training loop, by the rank's own clock."""
        results = {line["rank"]: line for line in self.log if "loss" in line}
        return float(results[rank]["training_s"])

    def critical_s(self, *, ranks: tuple[int, ...] = (0, 1)) -> float:
        """Seconds that the steps would take if only work counted: per step the slowest rank's."""
        return _longest_s([_sums(self, set(WORK_PARTS), rank) for rank in ranks])

    def without_s(self, part: str) -> float:
        """Seconds that the job would be shorter without that part of its ranks' work.

        Per stretch of work between two allreduces the slowest rank's: a rank that a busy machine
        holds up meanwhile would have been waited for anyway.
        """
        own = [_stretches(self, rank) for rank in (0, 1)]
        rest = [_stretches(self, rank, without=part) for rank in (0, 1)]
        return _longest_s(own) - _longest_s(rest)

    def seconds(self, part: str, *, rank: int) -> list[float]:
        """The program's own times of one part, step by step."""
        steps = [line for line in self.log if line["rank"] == rank and "step" in line]
        return [float(line["seconds"].get(part, 0.0)) for line in steps]


def trainer_command(log: Path, *options: str, ranks: int | None = 2) -> list[str]:
    """The command line of the trainer under MPICH; `ranks` None starts it without mpirun."""
    mpich = environments.mpi("mpich")
    program = [str(SCRIPT), "--log", str(log), *options]
    if ranks is None:
        return [str(mpich.python), *program]
    return mpich.python_command(ranks, *program)


def run_trainer(
    directory: Path,
    *options: str,
    ranks: int | None = 2,
    variables: Mapping[str, str] | None = None,
) -> Outcome:
    """Runs the trainer to its end."""
    log = directory / "log.jsonl"
    log.unlink(missing_ok=True)
    done = recording.run_plain(
        trainer_command(log, *options, ranks=ranks), cwd=directory, variables=variables
    )
    assert done.returncode == 0, done.stderr
    return _outcome(done.stdout, log)


def record_trainer(
    directory: Path, *options: str, ranks: int | None = 2
) -> tuple[Outcome, dict[str, Any]]:
    """Runs the trainer under `perfscope run`; returns what it said and its analysis."""
    directory.mkdir(exist_ok=True)
    log = directory / "recorded.jsonl"
    command = trainer_command(log, *options, ranks=ranks)
    done, analysis = recording.record_and_analyze(command, place=directory)
    return _outcome(done.stdout, log), analysis


def finding(analysis: dict[str, Any], name: str) -> dict[str, Any]:
    """One finding of an analysis."""
    found: dict[str, Any] = next(f for f in analysis["findings"] if f["id"] == name)
    return found


def _longest_s(times_of_ranks: list[list[float]]) -> float:
    """Seconds of all stretches, each as long as its slowest rank's."""
    return float(sum(map(max, zip(*times_of_ranks, strict=True))))


def _stretches(planted: Outcome, rank: int, *, without: str = "") -> list[float]:
    """Seconds of work before, between and after the allreduces of the steps."""
    before = _sums(planted, {"input", "forward", "backward"} - {without}, rank)
    after = _sums(planted, {"optimizer", "evaluate", "checkpoint"} - {without}, rank)
    return [sum(both) for both in zip([0.0, *after], [*before, 0.0], strict=True)]


def _sums(planted: Outcome, parts: set[str], rank: int) -> list[float]:
    times = [planted.seconds(part, rank=rank) for part in sorted(parts)]
    return [sum(step) for step in zip(*times, strict=True)]


def _outcome(output: str, log: Path) -> Outcome:
    found = RESULT.search(output)
    assert found is not None, output
    accuracy = None if found[1] == "none" else float(found[1])
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return Outcome(output, accuracy, lines)
