"""Phases are exclusive of the phases nested in them."""

import pytest

from perfscope.attribution.phase_catalog import MOST_OWN_PHASES, OTHER_PHASES
from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder


def by_id(builder: TraceBuilder) -> dict[str, PhaseResult]:
    return {phase.id: phase for phase in compute(builder.build()).phases}


def nested() -> TraceBuilder:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(10.0)
        rank.phase(PhaseKind.TRAIN, 1.0, 9.0)
        rank.op("MPI_Allreduce", 2.0 + number, 3.5)
    builder.rank(0).phase(PhaseKind.EVALUATE, 5.0, 8.0).phase(PhaseKind.INPUT, 5.5, 6.0)
    builder.rank(0).phase(PhaseKind.USER, 1.0, 1.5, name="mine")
    return builder


def test_by_hand() -> None:
    phases = by_id(nested())
    assert set(phases) == {"train", "evaluate", "input", "user:mine"}
    train = phases["train"]
    assert train.seconds_by_rank == pytest.approx((4.5, 8.0))
    assert train.communication_s_by_rank == pytest.approx((1.5, 0.5))
    assert (train.count, train.entering_ranks, train.source) == (2, (0, 1), "marker")
    assert train.label == "Training"
    evaluate = phases["evaluate"]
    assert evaluate.seconds_by_rank == pytest.approx((2.5, 0.0))
    assert evaluate.entering_ranks == (0,)
    assert evaluate.windows_s == ((0, 5.0, 8.0),)
    assert phases["user:mine"].label == "mine"
    assert phases["user:mine"].kind is PhaseKind.USER


@pytest.mark.parametrize(
    ("has_steps", "is_sampled", "count"), [(True, False, 3), (True, True, 3), (False, False, 12)]
)
def test_calls_that_evaluate_one_after_the_other_are_one_evaluation(
    has_steps: bool, is_sampled: bool, count: int
) -> None:
    """Four batches after every second step, each with what it takes to fetch it."""
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0)
    for step in range(6):
        at = 1.0 + 2 * step
        if has_steps:
            rank.step(step, at, at + 1.0)
        rank.phase(PhaseKind.TRAIN, at, at + 1.0)
        for batch in range(4 * (step % 2)):
            begin = at + 1.0 + 0.2 * batch
            rank.phase(PhaseKind.INPUT, begin, begin + 0.1)
            rank.phase(PhaseKind.EVALUATE, begin + 0.12, begin + 0.2)
            if is_sampled:  # what it does between the calls
                rank.stack(begin + 0.11, [("evaluate", "/job/train.py", 7)])
    assert by_id(builder)["evaluate"].count == count


def many_names(count: int, name: str) -> TraceBuilder:
    """A phase of 1 ms for each name, and a long one."""
    builder = TraceBuilder(1, end_s=count / 1e3 + 10)
    rank = builder.rank(0).phase(PhaseKind.USER, 0.0, 5.0, name="long")
    for number in range(count):
        start = 5 + number / 1e3
        rank.phase(PhaseKind.USER, start, start + 1e-3, name=name.format(number))
    return builder


def test_names_that_differ_in_numbers_are_one_phase_where_there_are_too_many() -> None:
    few = by_id(many_names(MOST_OWN_PHASES - 1, "batch {}"))
    assert len(few) == MOST_OWN_PHASES
    assert few["user:batch 7"].count == 1
    many = by_id(many_names(3000, "batch {} of 3000"))
    assert set(many) == {"user:long", "user:batch # of # (any number)"}
    joined = many["user:batch # of # (any number)"]
    assert (joined.count, joined.label) == (3000, "batch # of # (any number)")
    assert joined.seconds_by_rank == pytest.approx((3.0,))


def test_other_names_beyond_the_longest_are_one_phase() -> None:
    letters = str.maketrans("0123456789", "abcdefghij")
    builder = many_names(0, "")
    rank = builder.rank(0)
    for number in range(1000):
        start, length = 5 + number / 1e3, 1e-3 if number < 900 else 5e-4
        rank.phase(PhaseKind.USER, start, start + length, name=str(number).translate(letters))
    phases = by_id(builder)
    assert len(phases) == MOST_OWN_PHASES
    assert phases["user:long"].seconds_by_rank == pytest.approx((5.0,))
    others = phases[OTHER_PHASES]
    assert others.count == 1001 - (MOST_OWN_PHASES - 1)
    total = sum(sum(phase.seconds_by_rank) for phase in phases.values())
    assert total == pytest.approx(5 + 0.9 + 0.05)


def test_efficiency_of_a_phase() -> None:
    tree = by_id(nested())["train"].efficiency
    assert tree is not None
    assert tree.window_s == pytest.approx(8.0)
    assert tree.outside_s == pytest.approx((3.0, 7.5))
    assert tree.load_balance.value == pytest.approx(5.25 / 7.5)
    assert tree.communication_efficiency.value == pytest.approx(7.5 / 8.0)
    assert tree.parallel_efficiency.value == pytest.approx(10.5 / 16.0)
    assert tree.serialization_efficiency.value is None
    assert tree.parallel_efficiency.foa == "phase:train"


def test_predict_inside_a_step_is_training_work() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.0).finalize(10.0).step(0, 1.0, 4.0)
    rank.phase(PhaseKind.PREDICT, 2.0, 3.0).phase(PhaseKind.PREDICT, 6.0, 8.0)
    ledger = compute(builder.build()).ledger
    accounts = list(Account)
    assert ledger.ns[accounts.index(Account.TRAINING), 0] == 3 * 10**9
    assert ledger.ns[accounts.index(Account.EVALUATION), 0] == 2 * 10**9
    assert ledger.share(Account.EVALUATION) == pytest.approx(0.2)


def test_phases_of_a_framework_say_so() -> None:
    builder = nested()
    builder.rank(0).set(metadata={"frameworks": {"keras": {}}})
    assert by_id(builder)["evaluate"].source == "framework"


def test_phases_of_other_threads_are_not_the_main_ones() -> None:
    builder = nested()
    builder.rank(0).phase(PhaseKind.IO, 0.0, 10.0, tid=77)
    assert "io" not in by_id(builder)


MAIN = ("main", "/job/train.py", 80)
VALIDATE, WAITING = ("validate", "/job/train.py", 42), ("validate", "/job/train.py", 43)
ERROR, FORWARD = ("squared_error", "/job/train.py", 34), ("Net.forward", "/job/train.py", 17)


def test_the_place_of_a_phase_is_the_outermost_function_that_works_in_it_alone() -> None:
    """All ranks call it, and the others only wait there; what it calls is told behind it."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(11.0)
        for tick in range(20):
            rank.stack(1.05 + 0.1 * tick, [MAIN, FORWARD])
            below = [WAITING] if number else [VALIDATE, ERROR, FORWARD]
            rank.stack(5.05 + 0.1 * tick, [MAIN, *below])
        rank.op("MPI_Bcast", 5.0 if number else 7.0, 7.1)
    builder.rank(0).phase(PhaseKind.EVALUATE, 5.0, 7.0)
    where = by_id(builder)["evaluate"].where
    assert [(one.function, one.line) for one in where] == [
        (name, line) for name, _, line in (VALIDATE, ERROR, FORWARD)
    ]


def test_a_loop_that_also_trains_is_not_the_place_of_an_evaluation_that_it_calls() -> None:
    """It trains for a tenth of the time: who waits for the evaluation waits in the loop."""
    builder = TraceBuilder(2, end_s=12.0)
    loop, wait = ("train", "/job/train.py", 59), ("train", "/job/train.py", 61)
    evaluate = ("evaluate", "/job/train.py", 112)
    for number in (0, 1):
        rank = builder.rank(number).init(0.0).finalize(11.0)
        for tick in range(8):
            rank.stack(1.05 + 0.1 * tick, [MAIN, FORWARD])
        for tick in range(4):
            rank.stack(3.05 + 0.1 * tick, [MAIN, loop])
        for tick in range(38):
            rank.stack(5.05 + 0.1 * tick, [MAIN, wait] if number else [MAIN, loop, evaluate])
        rank.op("MPI_Allreduce", 5.0 if number else 8.85, 8.9)
    builder.rank(0).phase(PhaseKind.EVALUATE, 5.0, 8.85)
    assert by_id(builder)["evaluate"].where[0].function == "evaluate"


def test_a_phase_in_which_nothing_was_seen_has_no_place() -> None:
    """What was seen last before it, as a line that imports, is none of its functions."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.0).finalize(9.0).phase(PhaseKind.EVALUATE, 2.02, 2.06)
    rank.stack(2.0, [("<module>", "/job/train.py", 3)]).stack(3.0, [MAIN])
    assert by_id(builder)["evaluate"].where == ()
