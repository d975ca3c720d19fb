"""Loader processes on the CPU of their rank: named there, and silent with CPUs of their own."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY, Environment
from tests.support.recording import Recorded, Recorder, analysis_of
from tests.support.requirements import require_tool

pytestmark = pytest.mark.long
PROGRAM = REPOSITORY / "examples" / "faults" / "loader_cores.py"


def judged(recorded: Recorded) -> dict[str, Any]:
    assert recorded.exit_code == 0, recorded.stderr
    return finding(analysis_of(recorded.directory), "worker_cores")


def test_workers_and_training_on_one_cpu(
    record: Recorder, environment: Callable[[str], Environment]
) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    one, two = str(allowed[0]), ",".join(str(cpu) for cpu in allowed[:2])
    python = environment("torch").python
    shared = record([require_tool("taskset"), "-c", one, python, PROGRAM])
    found = judged(shared)
    assert found["status"] in {"fail", "warn"}
    assert found["title"] == "Rank 0 shares its CPUs with 2 input processes"
    assert "num_workers of the DataLoader from 2 to 1" in found["actions"][1]
    apart = record(
        [require_tool("taskset"), "-c", two, python, PROGRAM, "--workers", "1"],
        output=shared.directory.with_name("apart"),
    )
    assert judged(apart)["status"] == "pass"
