"""Functions that compute an error or a score: told from the training by how often they run."""

import numpy as np
import pytest

from perfscope.attribution.ledger import Ledger
from perfscope.attribution.stack_rules import computes_figure
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.schema.enums import Account
from perfscope.trace.model import Frame
from tests.support.trace_builder import TraceBuilder

FILE = "/job/mnist.py"
MAIN = ("main", FILE, 20)
TRAIN = (MAIN, ("train", FILE, 30))
STEP_S = 0.2
FIGURE_S = 0.5
EPOCHS = 20


def run(
    name: str,
    *,
    every: int,
    steps: int = 200,
    figure_s: float = FIGURE_S,
    around: str = "train",
    collectives: bool = True,
    told: bool = False,
    rules: tuple[tuple[str, str], ...] = (),
) -> Results:
    """Two ranks that train, an allreduce in each step, and call a function in every n-th step.

    They are sampled 20 times a second.
    """
    builder = TraceBuilder(2, end_s=1e6)
    clock = 1.0
    for step in range(steps):
        extra = figure_s if (step + 1) % every == 0 else 0.0
        parts = ((STEP_S, TRAIN), (extra, (MAIN, (around, FILE, 30), (name, FILE, 88))))
        begin = clock
        for spent, stack in parts:
            for number in (0, 1):
                first, last = round(clock * 20 + 0.4), round((clock + spent) * 20 - 0.4)
                for tick in range(first, last + 1 if spent else first):
                    builder.rank(number).stack(tick / 20 + 0.001, stack)
            clock += spent
        for number in (0, 1):
            rank = builder.rank(number)
            if told:
                rank.step(step, begin, begin + STEP_S)
            if collectives:
                rank.op("MPI_Allreduce", clock, clock + 0.002, sent=4096, received=4096)
        clock += 0.002
    trace = builder.ended(clock, init_s=1.0)
    return compute(trace, Options(phase_rules=rules))


def seconds(results: Results, account: Account) -> float:
    ledger: Ledger = results.ledger
    return float(ledger.ns[list(Account).index(account), 0]) / 1e9


@pytest.mark.parametrize(
    ("name", "is_figure"),
    [
        ("calc_error", True),
        ("calculateError", True),
        ("get_error", True),
        ("mean_error", True),
        ("total_error", True),
        ("compute_train_accuracy", True),
        ("Net.accuracy", True),
        ("compute_metrics", True),
        ("check_accuracy", True),
        ("statistics", True),
        ("score", True),
        ("compute_loss", False),
        ("raise_error", False),
        ("compute_batch_accuracy", False),
        ("accuracy_of_step", False),
        ("get", False),
        ("<lambda>", False),
    ],
)
def test_figures_by_name(name: str, is_figure: bool) -> None:
    assert computes_figure(Frame(name, FILE, 1)) is is_figure
    assert not computes_figure(Frame(name, "/venv/lib/python3.11/site-packages/x/y.py", 1))


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("around", ["train", "finish"])
def test_once_an_epoch_is_progress_output(told: bool, around: str) -> None:
    """Every tenth step; steps are told, or seen by their allreduce."""
    results = run("compute_accuracy", every=10, told=told, around=around)
    assert seconds(results, Account.USER_PHASES) == pytest.approx(EPOCHS * FIGURE_S, rel=0.1)
    phase = next(phase for phase in results.phases if phase.id == "user:progress")
    # the outermost function that does nothing else
    named = "compute_accuracy" if around == "train" else around
    assert (phase.count, phase.where[0].function) == (2 * EPOCHS, named)


@pytest.mark.parametrize("figure_s", [0.05, 0.1, FIGURE_S])
@pytest.mark.parametrize("told", [True, False])
def test_in_each_step_it_stays_training(figure_s: float, told: bool) -> None:
    results = run("compute_accuracy", every=1, figure_s=figure_s, told=told)
    assert "user:progress" not in {phase.id for phase in results.phases}
    assert seconds(results, Account.USER_PHASES) == 0.0


def test_a_figure_in_each_short_step_stays_training() -> None:
    """Steps of 20 ms, of which 80 % compute a score: samples of many steps stand in a row."""
    builder, clock = TraceBuilder(1, end_s=1e6), 1.0
    random = np.random.default_rng(3)
    rank = builder.rank(0)
    for step in range(2000):
        rank.step(step, clock, clock + 0.02)
        if step % 5 == 0:  # ten samples a second
            at = clock + 0.02 * float(random.random())
            is_score = at - clock < 0.016
            rank.stack(at, (MAIN, ("score", FILE, 88)) if is_score else TRAIN)
        clock += 0.02
    results = compute(builder.build())
    assert "user:progress" not in {phase.id for phase in results.phases}


@pytest.mark.parametrize("name", ["compute_validation_metrics", "get_eval_score"])
def test_names_of_evaluation_stay_evaluation(name: str) -> None:
    results = run(name, every=10)
    assert seconds(results, Account.EVALUATION) == pytest.approx(EPOCHS * FIGURE_S, rel=0.1)
    assert seconds(results, Account.USER_PHASES) == 0.0


def test_short_calls_tell_nothing() -> None:
    results = run("compute_accuracy", every=10, figure_s=0.1)
    assert seconds(results, Account.USER_PHASES) == 0.0


def test_without_known_steps_nothing_is_told() -> None:
    results = run("compute_accuracy", every=10, collectives=False)
    assert seconds(results, Account.USER_PHASES) == 0.0


def test_a_loss_is_no_figure_however_rare() -> None:
    results = run("compute_loss", every=10)
    assert "user:progress" not in {phase.id for phase in results.phases}


def test_what_an_evaluation_computes_is_evaluation() -> None:
    results = run("accuracy", every=10, around="evaluate")
    assert seconds(results, Account.EVALUATION) == pytest.approx(EPOCHS * FIGURE_S, rel=0.1)
    assert seconds(results, Account.USER_PHASES) == 0.0


def test_the_users_rules_come_first() -> None:
    results = run("accuracy", every=10, rules=(("evaluate", "accuracy"),))
    assert seconds(results, Account.EVALUATION) == pytest.approx(EPOCHS * FIGURE_S, rel=0.1)
