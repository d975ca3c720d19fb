"""Horovod over gloo with PyTorch, without MPI: steps, and the wait for a straggler."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, environment
from tests.support.recording import record_and_analyze

TIMEOUT_S = 280.0
TIMINGS = "timings.jsonl"
SLOW_MS = 100.0
STEPS = 20


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Analysis and recording of a run in which rank 1 is late in each step."""
    directory, place = tmp_path_factory.mktemp("horovod-gloo"), environment("horovod")
    script = REPOSITORY / "examples" / "horovod_torch.py"
    start = (place.prefix / "bin" / "horovodrun", "--gloo", "-np", "2", place.python, script)
    slow = ("--slow-rank", "1", "--slow-ms", str(SLOW_MS))
    options = ("--steps", str(STEPS), *slow, "--timings", str(directory / TIMINGS))
    done, analysis = record_and_analyze(
        [*start, *options],
        place=directory,
        # horovodrun loads what it can be built with, to see what it was built with
        variables={"OMP_NUM_THREADS": "1", "HIDDEN_MODULES": "tensorflow"},
        timeout_s=TIMEOUT_S,
    )
    assert "result: loss" in done.stdout
    return analysis, done.directory


@pytest.fixture
def analysis(found: tuple[dict[str, Any], Path]) -> dict[str, Any]:
    return found[0]


def test_a_step_of_two_nested_optimizers_is_one(found: tuple[dict[str, Any], Path]) -> None:
    analysis, directory = found
    counts = {phase["id"]: phase["count"] for phase in analysis["phases"]}
    assert (counts["backward"], counts["optimizer"]) == (2 * STEPS, 2 * STEPS)
    files = [json.loads(path.read_text()) for path in directory.glob("*/*.json")]
    told = [one["frameworks"] for one in files if one["role"] == "rank"]
    horovod = [(one["horovod"]["torch"], one["horovod"]["optimizers"]) for one in told]
    assert horovod == [(True, 1)] * 2
    rates = [row["learning_rate"] for one in told for row in one["torch"]["learning_rates"]]
    assert set(rates) == {0.02}


def test_ranks_and_steps_are_those_of_horovod(analysis: dict[str, Any]) -> None:
    run = analysis["run"]
    assert (run["launcher"], run["ranks"], run["missing_ranks"]) == ("horovodrun", 2, [])
    assert (run["throughput"]["steps"], run["throughput"]["step_source"]) == (STEPS, "framework")


def test_who_waits_for_whom_is_known(found: tuple[dict[str, Any], Path]) -> None:
    """By as much as the program itself saw: on a busy machine rank 0 comes late as well."""
    analysis, directory = found
    lines = (directory.parent / TIMINGS).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    ready_s = [[row["ready_s"] for row in rows if row["rank"] == rank] for rank in (0, 1)]
    late_s = sum(max(late - early, 0.0) for early, late in zip(*ready_s, strict=True))
    (exposed,) = analysis["collectives"]["operations"]
    assert exposed["name"] == "Horovod (exposed)"
    # gradients of each step, what is broadcast at the start, and the loss at the end
    assert exposed["calls"] > 2 * STEPS
    assert exposed["bytes_sent"] is None
    assert exposed["wait_s"] > late_s / 2 > 0
    late = analysis["collectives"]["late_arrivals"]
    assert sum(row["waiting_s"] for row in late if row["rank"] == 1) > late_s / 2
    assert analysis["metrics"]["parallel_efficiency"]["value"] < 1.0
