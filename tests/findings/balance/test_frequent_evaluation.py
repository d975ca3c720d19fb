"""Evaluation and progress output by all ranks: named, priced, and told from the training itself."""

import pytest

from perfscope.findings.balance import frequent_evaluation
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Basis, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.attribution.test_periodic_metrics import run
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder

OUTPUT = ("print_progress", "/job/mnist.py", 88)
MAIN = ("main", "/job/mnist.py", 20)


def judged(plan: Plan) -> Finding:
    return analyze(plan).findings["frequent_evaluation"]


def epochs(
    count: int,
    *,
    output_s: float,
    work_s: float = 1.0,
    every: int = 1,
    output: tuple[str, str, int] = OUTPUT,
    steps: int = 1,
) -> Trace:
    """All ranks train an epoch, then compute and print an error; nothing is marked."""
    builder = TraceBuilder(2, end_s=1e6)
    clock = 1.0
    for epoch in range(1, count + 1):
        prints = output_s if epoch % every == 0 else 0.0
        for number in (0, 1):
            rank = builder.rank(number)
            for tick in range(int(clock * 20), int((clock + work_s) * 20)):
                rank.stack((tick + 0.5) / 20, [MAIN, ("train_epoch", "/job/mnist.py", 40)])
            for tick in range(int((clock + work_s) * 20), int((clock + work_s + prints) * 20)):
                rank.stack((tick + 0.5) / 20, [MAIN, output])
            for step in range(1, steps):
                at = clock + work_s * step / steps
                rank.op("MPI_Allreduce", at, at + 0.001, sent=8, received=8)
            rank.op("MPI_Allreduce", clock + work_s, clock + work_s + 0.001, sent=8, received=8)
            end = clock + work_s + prints + 0.002
            rank.op("MPI_Allreduce", end - 0.001, end, sent=8, received=8)
        clock += work_s + prints + 0.002
    return builder.ended(clock, init_s=1.0)


def test_all_ranks_evaluate_too_often() -> None:
    """Ten times one second on each of four ranks, which do a quarter each, or two times in all."""
    finding = judged(Plan(steps=200, evaluate_s=1.0, evaluators=4))
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Each rank seems to evaluate all of the data in evaluate() (train.py:212), 10 times"
    )
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(7.5, abs=0.1)
    assert finding.recommended is not None
    assert finding.recommended.spent is not None
    assert finding.recommended.spent.seconds == pytest.approx(7.5, abs=0.1)  # three quarters
    assert "data[rank::4]" in finding.actions[0]
    assert "every 5th time" in finding.actions[1]


@pytest.mark.parametrize(("is_heard", "title"), [(True, "Each rank seems"), (False, "Evaluation")])
def test_ranks_whose_exchange_is_not_seen_may_share_an_evaluation(
    is_heard: bool, title: str
) -> None:
    """As those of JAX, whose compiled functions exchange by themselves."""
    builder, clock = TraceBuilder(2, end_s=20.0), 1.0
    for step in range(40):
        spent = 0.6 if step % 4 == 3 else 0.0
        for number in (0, 1):
            rank = builder.rank(number).step(step, clock, clock + 0.3)
            if is_heard:
                rank.op("MPI_Allreduce", clock + 0.29, clock + 0.3, sent=8, received=8)
            if spent:
                rank.phase(PhaseKind.EVALUATE, clock + 0.3, clock + 0.3 + spent)
        clock += 0.3 + spent
    trace = builder.ended(clock, init_s=1.0) if is_heard else builder.build()
    finding = analyze_trace(trace).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.title.startswith(title)
    assert any("data[rank::2]" in one for one in finding.actions) is is_heard


@pytest.mark.parametrize(
    ("share", "status"), [(0.07, Status.PASS), (0.17, Status.PASS), (0.3, Status.FAIL)]
)
def test_validation_once_an_epoch_is_ordinary(share: float, status: Status) -> None:
    """20 epochs of 10 steps; validation takes up to a third of the run."""
    builder = TraceBuilder(1, end_s=1e6)
    rank, clock = builder.rank(0).init(1.0), 1.0
    for epoch in range(20):
        for step in range(10):
            rank.step(epoch * 10 + step, clock, clock + 0.1, epoch=epoch)
            clock += 0.1
        spent = share / (1.0 - share)
        rank.phase(PhaseKind.EVALUATE, clock, clock + spent)
        clock += spent
    trace = builder.ended(clock, after_s=0.1)
    assert analyze_trace(trace).findings["frequent_evaluation"].status is status


def test_progress_output_is_not_hidden_by_evaluation_that_may_take_more() -> None:
    """20 epochs of 1 s: validation of 250 ms is ordinary, output of 150 ms is too much."""
    builder = TraceBuilder(1, end_s=1e6)
    rank, clock = builder.rank(0).init(1.0), 1.0
    for epoch in range(20):
        rank.step(epoch, clock, clock + 1.0, epoch=epoch)
        rank.phase(PhaseKind.EVALUATE, clock + 1.0, clock + 1.25)
        rank.phase(PhaseKind.USER, clock + 1.25, clock + 1.4, name="progress")
        clock += 1.4
    rank.phase(PhaseKind.EVALUATE, clock, clock + 0.25)  # once more, at the end
    rank.finalize(clock + 0.25)
    rank.end_s = clock + 0.3
    trace = builder.set(wall_ns=round((clock + 0.3) * 1e9)).build()
    finding = analyze_trace(trace).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.title.startswith("Progress output too often")


@pytest.mark.parametrize(
    ("name", "file", "status"),
    [
        ("train_epoch", "/job/solve.py", Status.FAIL),
        ("advance", "/job/solve.py", Status.NOT_APPLICABLE),
    ],
)
def test_evaluation_is_a_habit_of_programs_that_train(name: str, file: str, status: Status) -> None:
    """A solver whose forces are evaluated half of the time is for that."""
    builder = TraceBuilder(1, end_s=41.0)
    rank = builder.rank(0).init(0.5).finalize(40.5)
    for tick in range(20, 800):
        inside = ("evaluate_forces", file, 9) if tick // 20 % 2 else (name, file, 5)
        library = ("run", "/venv/lib/python3.11/site-packages/keras/src/training.py", 7)
        rank.stack((tick + 0.5) / 20, [("main", file, 3), inside, library])
    assert analyze_trace(builder.build()).findings["frequent_evaluation"].status is status


def sweeps(*, seconds: float, every: int) -> Trace:
    """Two ranks that nothing names as training: 200 steps of 0.1 s, evaluation in some of them."""
    builder, clock = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(200):
        spent = 0.1 + (seconds if step % every == every - 1 else 0.0)
        for number in (0, 1):
            rank = builder.rank(number)
            for tick in range(int(clock * 50), int((clock + spent) * 50)):
                is_work = (tick + 0.5) / 50 < clock + 0.1
                inside = ("advance" if is_work else "evaluate", "/job/solve.py", 5)
                rank.stack((tick + 0.5) / 50, [("main", "/job/solve.py", 3), inside])
            rank.op("MPI_Allreduce", clock + spent - 0.01, clock + spent, comm=0, seq=step)
        clock += spent
    return builder.ended(clock, init_s=1.0, after_s=0.1)


def test_evaluation_that_most_steps_go_without_is_a_habit_whatever_its_names() -> None:
    finding = analyze_trace(sweeps(seconds=0.8, every=20)).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert "evaluate all of the data in evaluate() (solve.py:5), 10 times" in finding.title
    # 10 times 0.8 s on both, of which each needs to do half
    assert finding.gain_s == pytest.approx(4.0, rel=0.15)


def test_what_each_step_evaluates_is_not_said_to_cost_little() -> None:
    finding = analyze_trace(sweeps(seconds=0.1, every=1)).findings["frequent_evaluation"]
    assert finding.status is Status.NOT_APPLICABLE
    # of 0.2 s in each step 0.01 s are a call
    assert finding.summary.startswith("Evaluation takes 45.0 % of the analyzed window, and ")


def test_progress_output_is_named_with_its_line() -> None:
    finding = analyze_trace(epochs(60, output_s=1.0)).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Progress output too often: print_progress() (mnist.py:88), 60 times on each rank"
    )
    # every 30th of 60 seconds stays
    assert "every 30th time" in finding.actions[0]
    assert finding.gain_s == pytest.approx(58.0, rel=0.03)
    assert [frame.line for frame in finding.where] == [20, 88]  # where it is called comes first
    assert "call print_progress() (mnist.py:88) every" in finding.actions[0]
    assert finding.actions[0].endswith(", in main() (mnist.py:20).")


def test_an_error_after_each_epoch_is_progress_output() -> None:
    output = ("calc_error", "/job/mnist.py", 91)
    run = epochs(60, output_s=1.0, output=output, steps=10)
    finding = analyze_trace(run).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Progress output too often: calc_error() (mnist.py:91), 60 times on each rank"
    )


@pytest.mark.parametrize("name", ["calc_error", "accuracy", "compute_loss"])
def test_a_figure_in_each_step_is_training(name: str) -> None:
    run = epochs(60, output_s=1.0, output=(name, "/job/mnist.py", 91))
    finding = analyze_trace(run).findings["frequent_evaluation"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_output_now_and_then_is_silent() -> None:
    finding = analyze_trace(epochs(60, output_s=0.3, every=30)).findings["frequent_evaluation"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_what_was_advised_is_not_complained_of_again() -> None:
    """Every 30th of 240 times, as advised where a half of the time goes there: 3.2 % are left."""
    finding = analyze_trace(epochs(240, output_s=1.0, every=30)).findings["frequent_evaluation"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_what_four_samples_tell_is_no_fault() -> None:
    """7 % of the run by four samples of each rank: the output may as well take half of that."""
    few = analyze_trace(epochs(2, output_s=0.1, work_s=1.3)).findings["frequent_evaluation"]
    assert few.status is Status.PASS
    assert few.title.endswith("is not certain")
    assert few.summary.endswith("a longer recording shows.")
    often = epochs(60, output_s=0.1, work_s=1.3)
    assert analyze_trace(often).findings["frequent_evaluation"].status is Status.FAIL


def test_one_rank_alone_is_another_diagnosis() -> None:
    analyzed = analyze(Plan(steps=200, evaluate_s=1.0))
    assert analyzed.findings["frequent_evaluation"].status is Status.PASS
    assert analyzed.findings["rank_zero_evaluation"].status is Status.FAIL


def test_a_single_rank_may_evaluate_too_often() -> None:
    finding = judged(Plan(ranks=1, steps=200, evaluate_s=1.0))
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(8.0, abs=0.1)


def test_evaluation_in_every_step_is_too_often() -> None:
    finding = judged(Plan(steps=50, evaluate_s=0.5, evaluate_every=1, evaluators=4))
    assert finding.status is Status.FAIL
    # a quarter of it stays on each rank
    assert finding.gain_s == pytest.approx(18.75, abs=0.1)


def test_predictions_that_each_step_needs_are_training() -> None:
    builder = TraceBuilder(1, end_s=41.0)
    rank = builder.rank(0).init(0.5).finalize(40.5)
    for step in range(40):
        at = 0.5 + step
        rank.phase(PhaseKind.PREDICT, at, at + 0.5).phase(PhaseKind.TRAIN, at + 0.5, at + 1.0)
        rank.step(step, at, at + 1.0)
    finding = analyze_trace(builder.build()).findings["frequent_evaluation"]
    assert finding.status is Status.PASS


def test_healthy_is_silent() -> None:
    assert judged(Plan(steps=100)).status is Status.PASS


def test_nothing_recorded_names_the_flag() -> None:
    builder = TraceBuilder(2, end_s=11.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(10.0).op("MPI_Barrier", 5.0, 6.0)
    finding = analyze_trace(builder.build()).findings["frequent_evaluation"]
    assert finding.status is Status.NOT_MEASURED


def test_without_a_replay_the_bound_is_one() -> None:
    """Four ranks evaluate by turns: the job loses the sum of what each does."""
    builder = TraceBuilder(4, end_s=1e6)
    clock = 1.0
    for turn in range(12):
        for number in range(4):
            rank = builder.rank(number)
            rank.phase(PhaseKind.TRAIN, clock, clock + 1.0)
            end = clock + (2.0 if number == turn % 4 else 1.0)
            if number == turn % 4:
                rank.phase(PhaseKind.EVALUATE, clock + 1.0, end)
            rank.op("MPI_Allreduce", end, clock + 2.001, sent=8, received=8)
        clock += 2.001
    builder.rank(0).op("MPI_Put", 1.0001, 1.0002, peer=1, sent=8)
    builder.rank(1).op("MPI_Win_flush", 1.0001, 1.0003)
    analyzed = analyze_trace(builder.ended(clock, init_s=1.0))
    assert not analyzed.replay.available
    finding = analyzed.findings["frequent_evaluation"]
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert finding.gain_s is not None
    assert finding.gain_s >= 8.0  # three turns of each rank, of which one is left


def test_what_tells_whether_training_is_any_good_is_not_left_out() -> None:
    finding = judged(Plan(steps=60, evaluate_s=2.0, evaluators=4))
    assert finding.actions[1].startswith("Evaluate half as often")


def test_ranks_that_share_an_evaluation_do_it_more_rarely() -> None:
    """They add up what they found at its end."""
    builder = TraceBuilder(2, end_s=61.5)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(61.0)
        for turn in range(20):
            at = 1.0 + 3.0 * turn
            rank.phase(PhaseKind.TRAIN, at, at + 1.0).phase(PhaseKind.EVALUATE, at + 1.0, at + 3.0)
            rank.op("MPI_Allreduce", at + 2.9, at + 3.0, sent=8, received=8)
    finding = analyze_trace(builder.build()).findings["frequent_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.actions[0].startswith("Evaluate every")


@pytest.mark.parametrize(("seconds", "status"), [(0.18, Status.PASS), (0.5, Status.FAIL)])
def test_a_figure_has_the_allowance_of_an_evaluation(seconds: float, status: Status) -> None:
    """An accuracy after every tenth step, 8 or 20 % of the run, is all the evaluation there is."""
    results = run("compute_accuracy", every=10, figure_s=seconds)
    finding = frequent_evaluation.judge(Facts(results, SegmentReplay(results)))
    assert finding.status is status
