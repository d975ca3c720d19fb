"""The S-GAN on two ranks: with Horovod in Keras 2.15, and with mpi4py in Keras 3."""

import json
import logging
import os
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, environment
from tests.support.recording import record_and_analyze

LOG = logging.getLogger(__name__)
TIMEOUT_S = 580.0
pytestmark = pytest.mark.timeout(600)  # a busy machine takes minutes to load TensorFlow twice
ITERATIONS, EPOCHS = 5, 2
SLOW_MS = 50.0
AGREEMENT_S = 0.01
"""Four exchanges an iteration, each with computation before it that differs from time to time."""
MANY_ITERATIONS = 200
BRIEF = ("--hidden", "16", "--batch", "4")
"""Networks so small that they compute for next to nothing between two exchanges."""
SMALL = ("--epochs", str(EPOCHS), "--iterations-per-epoch", str(ITERATIONS))
EVALUATED = {"predict": 20, "predict_on_batch": 120}
"""Images that rank 0 evaluates each time, long enough to be met by the stack sampler."""


def on_own_cpus() -> tuple[str, ...]:
    """Words before the program that bind each rank to a CPU of its own, where there are two.

    Threads that move, Horovod's that polls and the one that computes, else take each other's CPUs.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return ()
    listed = " ".join(map(str, cpus))
    return ("bash", "-c", f'cpus=({listed}); exec taskset -c "${{cpus[$PMI_RANK]}}" "$@"', "-")


def record(
    directory: Path,
    name: str,
    *options: str,
    method: str = "predict",
    wrapper: tuple[str, ...] = (),
) -> tuple[str, dict[str, Any]]:
    """What the example printed and the analysis of its recording."""
    predict = ("--predict-method", method, "--evaluate-samples", str(EVALUATED[method]))
    place = environment(name)
    script = REPOSITORY / "examples" / "sgan_keras.py"
    done, analysis = record_and_analyze(
        [place.mpirun, "-n", "2", *wrapper, place.python, script, *SMALL, *predict, *options],
        place=directory,
        timeout_s=TIMEOUT_S,
    )
    return done.stdout, analysis


def phase(analysis: dict[str, Any], name: str) -> dict[str, Any]:
    """One phase of the analysis."""
    found: dict[str, Any] = next(row for row in analysis["phases"] if row["id"] == name)
    return found


def check_common(stdout: str, analysis: dict[str, Any]) -> None:
    """What both environments must show."""
    assert stdout.count("accuracy") == EPOCHS + 1
    throughput = analysis["run"]["throughput"]
    # four training calls of three models make one step
    assert (throughput["steps"], throughput["step_source"]) == (ITERATIONS * EPOCHS, "framework")
    assert throughput["epoch_s_median"]["value"] > 0
    assert analysis["run"]["batch_size"] == 32
    evaluate = phase(analysis, "evaluate")
    assert (evaluate["ranks"], evaluate["source"]) == ([0], "framework")
    assert evaluate["count"] == EPOCHS  # of many images each, one call of the model an image
    # images drawn for the discriminator are part of training
    assert phase(analysis, "predict")["count"] == 2 * ITERATIONS * EPOCHS
    by_account = {row["id"]: row["ns_by_rank"] for row in analysis["ledger"]}
    assert by_account["evaluation"][0] > by_account["evaluation"][1] == 0
    assert {"loss", "discriminator/loss", "adversary/loss"} & set(analysis["steps"]["series"])
    # rank 1 waits for the evaluation of rank 0
    waits = analysis["collectives"]["wait_s_by_rank"]
    assert waits[1] > 0
    late = [row for row in analysis["collectives"]["late_arrivals"] if row["phase"] == "evaluate"]
    assert {row["rank"] for row in late} == {0}
    assert analysis["replay"]["available"], analysis["replay"]["reason"]


def test_with_horovod(tmp_path: Path) -> None:
    stdout, analysis = record(tmp_path, "horovod", method="predict_on_batch")
    assert "result: parallel horovod" in stdout
    check_common(stdout, analysis)
    exposed = analysis["horovod"]["exposed"]
    assert exposed["reason"] is None
    assert len(exposed["steps"]) == ITERATIONS * EPOCHS
    for location in analysis["horovod"]["locations"]:
        # at least one reduction for each of the four training calls
        assert location["data_calls"]["MPI_Allreduce"] >= 4 * ITERATIONS * EPOCHS
    assert analysis["collectives"]["wait_s_by_rank"] == pytest.approx(exposed["wait_s_by_rank"])


@pytest.mark.long  # where two ranks fill all cores, four exchanges an iteration vary too much
def test_the_wait_for_a_straggler_in_horovod(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    slow = ("--slow-rank", "1", "--slow-ms", str(SLOW_MS), "--log", str(log))
    long = ("--epochs", "1", "--iterations-per-epoch", str(MANY_ITERATIONS))
    options = (*long, *slow, *BRIEF, "--evaluate-every", "0")
    _, analysis = record(tmp_path, "horovod", *options, wrapper=on_own_cpus())
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    ready_s = [[line["ready_s"] for line in lines if line["rank"] == rank] for rank in (0, 1)]
    late_s = [late - early for early, late in zip(*ready_s, strict=True)]
    exposed = analysis["horovod"]["exposed"]
    # In the other three exchanges of an iteration the ranks wait for each other in turn.
    net_s = [first - second for first, second in exposed["step_wait_s"]]
    errors = [wait - late for wait, late in zip(net_s, late_s, strict=True)]
    LOG.info("late by %.4f s, error of the wait %.4f s", median(late_s), median(errors))
    assert median(late_s) == pytest.approx(SLOW_MS / 1000.0, abs=AGREEMENT_S)
    assert abs(median(errors)) < AGREEMENT_S
    assert sum(second for _, second in exposed["step_wait_s"]) < 0.5 * sum(net_s)


@pytest.mark.long
def test_with_mpi4py(tmp_path: Path) -> None:
    stdout, analysis = record(tmp_path, "tensorflow")
    assert "result: parallel mpi4py" in stdout
    check_common(stdout, analysis)
    assert analysis["horovod"] is None
    counts = {row["name"]: row["calls"] for row in analysis["collectives"]["operations"]}
    assert counts["MPI_Allreduce"] == 2 * ITERATIONS * EPOCHS


@pytest.mark.long
@pytest.mark.parametrize(("unit", "expected"), [("iterations", 8), ("epochs", 1), ("nodes", 4)])
def test_how_often_it_evaluates(tmp_path: Path, unit: str, expected: int) -> None:
    iterations = ("--iterations-per-epoch", "8")
    options = (*iterations, "--evaluate-every", "2", "--evaluate-unit", unit)
    stdout, _ = record(tmp_path, "tensorflow", *options)
    assert stdout.count("iteration ") == expected
