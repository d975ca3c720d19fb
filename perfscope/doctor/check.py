"""What a check is and what it can find."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Any

from perfscope.registry import members
from perfscope.structures import dataclass

ORDER = (
    "recorder",
    "agent",
    "record_cost",
    "mpi",
    "two_ranks",
    "threads",
    "run_directory",
    "frameworks",
    "compiler",
    "nvml",
    "counters",
    "stacks",
    "memory_detail",
)


class State(Enum):
    """What a check found; the value is shown."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    NOT_THERE = "missing"


@dataclass(frozen=True)
class Outcome:
    """One row of the table."""

    title: str  # what was looked at
    state: State  # what was found
    summary: str  # the finding in one sentence
    fix: str = ""  # the command that helps; never empty unless the state is OK
    details: dict[str, Any] = field(default_factory=dict)  # figures for `--json`


@dataclass(frozen=True)
class Surroundings:
    """Where the checks look."""

    directory: Path  # where a recording would be written
    python: Path | None  # the job's Python: the first one in PATH, None without any
    environment: dict[str, str]  # the environment that a job would start in
    timeout_s: float = 30.0  # bound on the start of two ranks


@dataclass(frozen=True)
class Check:
    """One check."""

    id: str  # its name in the JSON document: that of its file
    # does it; an exception becomes a row of its own
    look: Callable[[Surroundings], Sequence[Outcome]]


def surroundings(directory: Path, *, timeout_s: float) -> Surroundings:
    """The surroundings of this very process: what is typed next in this shell finds the same."""
    found = shutil.which("python") or shutil.which("python3")
    return Surroundings(
        directory=directory,
        python=Path(found) if found else None,
        environment=dict(os.environ),
        timeout_s=timeout_s,
    )


def examine(around: Surroundings) -> list[tuple[str, Outcome]]:
    """All checks in their order: the id of each with its outcomes."""
    checks = members("perfscope.doctor.checks", "CHECK", order=ORDER)
    return [(check.id, outcome) for check in checks for outcome in _look(check, around)]


def _look(check: Check, around: Surroundings) -> Sequence[Outcome]:
    try:
        return check.look(around)
    except Exception as error:  # noqa: BLE001 - one check that fails must not hide the others
        why = f"the check itself failed: {type(error).__name__}: {error}"
        fix = "please report this with the output of perfscope doctor --json"
        return [Outcome(check.id, State.WARNING, why, fix)]
