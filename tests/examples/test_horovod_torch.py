"""Horovod with PyTorch, started by horovodrun: steps, the wait for a straggler, its own thread."""

import json
import os
import shlex
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, environment
from tests.support.recording import record_and_analyze

# In CI Horovod runs with PyTorch over gloo, and over MPI with TensorFlow.
pytestmark = pytest.mark.long

TIMEOUT_S = 280.0
SLOW_MS = 50.0
STEPS = 30
AGREEMENT_S = 0.012
PARAMETERS = 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10


def write_mpirun(directory: Path) -> Path:
    """An mpirun that tells horovodrun what it is.

    horovodrun looks for "MPICH" in what `mpirun --version` says; today's MPICH calls itself HYDRA.
    """
    directory.mkdir()
    path = directory / "mpirun"
    real = shlex.quote(str(environment("horovod").mpirun))
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec echo "MPICH, HYDRA"\nexec {real} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return directory


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any], list[float]]:
    """A recorded run of horovodrun, its analysis, and how late rank 1 was in each step."""
    directory = tmp_path_factory.mktemp("horovodrun")
    place, timings = environment("horovod"), directory / "timings.jsonl"
    script = REPOSITORY / "examples" / "horovod_torch.py"
    options = ["--steps", str(STEPS), "--slow-rank", "1", "--slow-ms", str(SLOW_MS)]
    start = (place.prefix / "bin" / "horovodrun", "-np", "2", place.python)
    search = f"{write_mpirun(directory / 'bin')}:{os.environ['PATH']}"
    done, analysis = record_and_analyze(
        [*start, script, *options, "--timings", timings],
        place=directory,
        # horovodrun loads what it can be built with, to see what it was built with
        variables={"PATH": search, "OMP_NUM_THREADS": "1", "HIDDEN_MODULES": "tensorflow"},
        timeout_s=TIMEOUT_S,
    )
    lines = [json.loads(line) for line in timings.read_text(encoding="utf-8").splitlines()]
    ready_s = [[line["ready_s"] for line in lines if line["rank"] == rank] for rank in (0, 1)]
    return done, analysis, [late - early for early, late in zip(*ready_s, strict=True)]


def test_horovodrun_is_the_launcher(started: tuple[Any, dict[str, Any], list[float]]) -> None:
    done, analysis, _ = started
    run = analysis["run"]
    assert "result: loss" in done.stdout
    assert (run["launcher"], run["ranks"], run["missing_ranks"]) == ("horovodrun", 2, [])
    assert done.run_file["ranks_requested"] == 2


def test_a_step_of_two_nested_optimizers_is_one(
    started: tuple[Any, dict[str, Any], list[float]],
) -> None:
    done, analysis, _ = started
    throughput = analysis["run"]["throughput"]
    assert (throughput["steps"], throughput["step_source"]) == (STEPS, "framework")
    counts = {phase["id"]: phase["count"] for phase in analysis["phases"]}
    assert (counts["backward"], counts["optimizer"]) == (2 * STEPS, 2 * STEPS)
    files = [json.loads(path.read_text()) for path in done.directory.glob("*/*.json")]
    horovod = [found["frameworks"]["horovod"] for found in files if found["role"] == "rank"]
    assert [(found["torch"], found["optimizers"]) for found in horovod] == [(True, 1)] * 2
    rates = [
        found["frameworks"]["torch"]["learning_rates"] for found in files if found["role"] == "rank"
    ]
    assert {row["learning_rate"] for rows in rates for row in rows} == {0.02}


def test_the_wait_for_a_straggler(started: tuple[Any, dict[str, Any], list[float]]) -> None:
    _, analysis, late_s = started
    exposed = analysis["horovod"]["exposed"]
    assert exposed["reason"] is None
    assert len(exposed["steps"]) == STEPS
    errors = [row[0] - late for row, late in zip(exposed["step_wait_s"], late_s, strict=True)]
    assert abs(median(errors)) < AGREEMENT_S
    assert exposed["step_wait_s_median_by_rank"][1] < AGREEMENT_S
    assert analysis["collectives"]["late_arrivals"][0]["rank"] == 1


def test_horovods_thread_is_a_location(started: tuple[Any, dict[str, Any], list[float]]) -> None:
    _, analysis, _ = started
    start, end = analysis["run"]["focus_of_analysis_s"]
    assert [location["rank"] for location in analysis["horovod"]["locations"]] == [0, 1]
    for location in analysis["horovod"]["locations"]:
        whole = sum(location[key] for key in ("data_s", "control_s", "other_s", "idle_s"))
        assert whole == pytest.approx(end - start)
        assert location["data_calls"]["MPI_Allreduce"] >= STEPS
        # all gradients of a step travel, in one allreduce or in several
        assert location["data_bytes"] >= STEPS * 4 * PARAMETERS
