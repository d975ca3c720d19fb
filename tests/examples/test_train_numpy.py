"""The example trainer learns, repeats itself exactly, and plants the faults that it promises."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.examples.trainer_run import SCRIPT, SMALL, TINY, run_trainer, trainer_command
from tests.support.recording import run_plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples.trainer_run import Outcome

SEED = 5


def test_two_ranks_learn(tmp_path: Path) -> None:
    outcome = run_trainer(tmp_path, *SMALL, "--samples", "16384", "--epochs", "6")
    assert outcome.accuracy is not None
    assert outcome.accuracy > 0.9
    lines = [line for line in outcome.output.splitlines() if line.startswith("step ")]
    assert len(lines) == 6
    first, last = (float(line.split()[-1]) for line in (lines[0], lines[-1]))
    assert last > first + 0.05


def test_all_ranks_end_with_the_same_model_and_repeat_it_exactly(tmp_path: Path) -> None:
    runs = [run_trainer(tmp_path, *TINY, "--steps", "30", "--quiet") for _ in range(2)]
    losses = [loss for run in runs for loss in run.losses.values()]
    assert len(losses) == 4
    assert len(set(losses)) == 1


def test_one_rank_alone_and_under_mpirun_compute_the_same(tmp_path: Path) -> None:
    alone = run_trainer(tmp_path, *TINY, "--steps", "20", ranks=None)
    launched = run_trainer(tmp_path, *TINY, "--steps", "20", ranks=1)
    assert alone.losses == launched.losses


def test_runs_without_mpi4py(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    options = (*TINY, "--steps", "5")
    alone = run_trainer(tmp_path, *options, ranks=None, variables={"PYTHONPATH": str(tmp_path)})
    assert list(alone.losses) == [0]
    as_rank = run_plain(
        trainer_command(tmp_path / "log.jsonl", *options, ranks=None),
        cwd=tmp_path,
        variables={"PYTHONPATH": str(tmp_path), "PMI_SIZE": "2"},
    )
    assert as_rank.returncode == 1
    assert "MPI cannot be loaded" in as_rank.stderr


def test_rank_zero_evaluates_while_the_other_waits(tmp_path: Path) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "20", "--evaluate-every", "5",
        "--work", "sleep", "--evaluate-ms", "100",
    )  # fmt: skip
    evaluated = outcome.seconds("evaluate", rank=0)
    assert min(filter(None, evaluated)) >= 0.1
    assert sum(outcome.seconds("evaluate", rank=1)) == 0.0
    # The evaluation of the last step has no allreduce after it.
    allreduces = outcome.seconds("allreduce", rank=1)[1:]
    waits = [wait for wait, before in zip(allreduces, evaluated, strict=False) if before]
    assert len(waits) == 3
    # A busy machine may hold up the one that waits, but hardly as long after each evaluation.
    assert max(waits) >= 0.05


def test_evaluation_on_all_ranks_shares_the_work(tmp_path: Path) -> None:
    options = (*TINY, "--steps", "10", "--evaluate-every", "5", "--evaluate-ms", "100")
    alone = run_trainer(tmp_path, *options, "--work", "sleep")
    shared = run_trainer(tmp_path, *options, "--work", "sleep", "--evaluate-on", "all")
    assert shared.accuracy == alone.accuracy
    assert sum(shared.seconds("evaluate", rank=1)) >= 0.1
    least, whole = (min(filter(None, one.seconds("evaluate", rank=0))) for one in (shared, alone))
    assert least < whole


def test_no_evaluation(tmp_path: Path) -> None:
    outcome = run_trainer(tmp_path, *TINY, "--steps", "5", "--evaluate-every", "none")
    assert outcome.accuracy is None
    assert "accuracy none" in outcome.output


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_slow_rank(tmp_path: Path, where: str) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "10", "--work", "sleep",
        "--slow-rank", "1", "--slow-ms", "30", "--slow-where", where,
    )  # fmt: skip
    # a busy machine only makes a part longer: the shortest one tells what was planted
    slow, fast = (min(outcome.seconds(where, rank=rank)) for rank in (1, 0))
    assert slow >= 0.03 > fast + 0.015
    assert max(outcome.seconds("allreduce", rank=0)) > 0.015


def test_random_slow_rank_is_the_same_draw_on_all_ranks(tmp_path: Path) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "20", "--work", "sleep", "--random-slow-ms", "30",
        "--evaluate-every", "none", "--seed", str(SEED),
    )  # fmt: skip
    forward = list(zip(*(outcome.seconds("forward", rank=rank) for rank in (0, 1)), strict=True))
    chance = np.random.default_rng(SEED)
    drawn = [int(chance.integers(2)) for _ in forward]
    assert {*drawn} == {0, 1}
    assert min(both[rank] for both, rank in zip(forward, drawn, strict=True)) >= 0.03
    # a busy machine makes some of the others as slow, but not each of them
    for rank in (0, 1):
        assert min(b[rank] for b, one in zip(forward, drawn, strict=True) if one != rank) < 0.03


def test_imbalance_gives_one_rank_more_samples_and_more_time(tmp_path: Path) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "10", "--work", "sleep", "--forward-ms", "20",
        "--imbalance", "2", "--imbalance-rank", "1",
    )  # fmt: skip
    samples = {line["rank"]: line["samples"] for line in outcome.log if "step" in line}
    assert samples == {0: 16, 1: 32}
    more, less = (min(outcome.seconds("forward", rank=rank)) for rank in (1, 0))
    assert more >= 0.04 > less + 0.005


def test_slow_input_starves_the_loop(tmp_path: Path) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "10", "--slow-input-ms", "250", "--queue-depth", "2"
    )
    assert sum(outcome.seconds("input", rank=0)) >= 0.15


def test_checkpoint_holds_the_parameters(tmp_path: Path) -> None:
    outcome = run_trainer(
        tmp_path, *TINY, "--steps", "10", "--checkpoint-every", "5", "--checkpoint-ms", "20"
    )
    assert (tmp_path / "checkpoint.npz").stat().st_size > 4 * 400 * 16
    assert sum(outcome.seconds("checkpoint", rank=0)) >= 0.04
    assert sum(outcome.seconds("checkpoint", rank=1)) == 0.0


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Five steps without a fault."""
    return run_trainer(tmp_path_factory.mktemp("plain"), *TINY, "--steps", "5")


@pytest.mark.parametrize(
    "options", [("--leak-kib", "64"), ("--blas-threads", "4"), ("--network-extra-kib", "256")]
)
def test_resource_faults_leave_the_result_unchanged(
    tmp_path: Path, plain: Outcome, options: tuple[str, ...]
) -> None:
    planted = run_trainer(tmp_path, *TINY, "--steps", "5", *options)
    assert planted.losses[0] == pytest.approx(plain.losses[0], rel=1e-5)


def test_every_option_is_explained() -> None:
    help_text = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    explained = (SCRIPT.parent / "README.md").read_text(encoding="utf-8")
    options = {word.strip("[],") for word in help_text.split() if word.startswith("--")}
    missing = {option for option in options - {"--help"} if option not in explained}
    assert not missing


@pytest.mark.parametrize(
    "options", [("--evaluate-every", "sometimes"), ("--evaluate-every", "0"), ("--batch", "0")]
)
def test_senseless_options_are_refused(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "error:" in done.stderr
