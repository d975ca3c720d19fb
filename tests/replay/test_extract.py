"""Which runs can be replayed, and why others cannot."""

from collections.abc import Callable

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.assumptions import CREATION
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import Ending, RowFlag, Trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


def replay_of(trace: Trace, focus: str | None = None) -> SegmentReplay:
    return SegmentReplay(compute(trace, Options(focus=focus)))


def two_ranks() -> TraceBuilder:
    """Two ranks that meet in a barrier at 3 s and a second one at 6 s."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Barrier", 2.0 + number, 3.1)
        rank.op("MPI_Barrier", 6.0 - number, 6.1)
    return builder


def test_plain_case() -> None:
    replay = replay_of(two_ranks().build())
    assert replay.relative_error == 0.0
    # 2.0 + 2.9 + 2.9: longest work before each barrier and after the last
    assert replay.ideal_runtime_s == pytest.approx(2.0 + 2.9 + 2.9)


Change = Callable[[TraceBuilder], object]
REFUSED: list[tuple[str, Change]] = [
    ("MPI_Send", lambda b: b.rank(0).op("MPI_Send", 7.0, 7.1, peer=1, tag=3, sent=8)),
    (
        "MPI_Isendrecv, of which only the message that it sends",
        lambda b: (
            b.rank(0).op("MPI_Isendrecv", 7.0, 7.1, peer=1, tag=3, sent=8, request=1),
            b.rank(1).op("MPI_Recv", 7.0, 7.2, peer=0, tag=3, received=8),
            b.rank(1).op("MPI_Send", 7.2, 7.3, peer=0, tag=4, sent=8),
        ),
    ),
    ("MPI_Iallreduce", lambda b: b.rank(0).op("MPI_Iallreduce", 7.0, 7.1, request=1)),
    ("no partners", lambda b: b.rank(0).op("MPI_Allreduce", 7.0, 7.1)),
    ("main threads", lambda b: b.rank(0).op("MPI_Send", 7.0, 7.1, peer=1, tag=3, tid=5)),
    ("rank 0 were dropped", lambda b: b.rank(0).set(detail_end_ns=5_000_000_000)),
    ("outside the MPI calls", lambda b: b.rank(1).phase(PhaseKind.COMMUNICATION, 7.0, 7.1)),
]


@pytest.mark.parametrize(("reason", "change"), REFUSED, ids=[reason for reason, _ in REFUSED])
def test_refusals_say_why(reason: str, change: Change) -> None:
    builder = two_ranks()
    change(builder)
    trace = builder.build()
    replay = replay_of(trace, "0:9" if "dropped" not in reason else None)
    if "dropped" in reason:
        # the focus closes where records end, so there is nothing to refuse
        assert replay.available
        return
    assert not replay.available
    assert reason in replay.reason
    assert replay.relative_error is None
    assert replay.ideal_runtime_s is None
    assert replay.predict([Edit()]) is None


def test_ranks_that_share_nothing_cannot_be_replayed() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(9.0)
    replay = replay_of(builder.build())
    assert "no collective" in replay.reason


def test_a_killed_rank_leaves_the_other_waiting() -> None:
    """Rank 1 dies at 8 s; rank 0 has waited for it since 7 s."""
    builder = TraceBuilder(2, end_s=8.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        rank.op("MPI_Barrier", 2.0 + number, 3.1)
        rank.set(ending=Ending(EndKind.KILLED, 9))
    builder.rank(0).op("MPI_Allreduce", 7.0, 8.0, flags=RowFlag.OPEN)
    replay = replay_of(builder.build())
    assert replay.reason == ""
    assert replay.relative_error == pytest.approx(0.0, abs=1e-9)
    faster = replay.predict([Edit(ranks=(1,), factor=0.5)])
    assert faster is not None
    # rank 0 now decides the second part: 3.9 s instead of rank 1's 4.9 s; the first saves 1 s
    assert faster.gain_s == pytest.approx(1.0 + 1.0, abs=0.01)


def test_nobody_waits_for_a_rank_that_has_nothing_to_send() -> None:
    """Rank 1 comes to the exchange 2 s late and sends nothing: rank 0 has gone on meanwhile."""
    builder = two_ranks()
    builder.rank(0).op("MPI_Alltoallv", 6.2, 6.3, sent=64, received=0)
    builder.rank(1).op("MPI_Alltoallv", 8.2, 8.3, sent=0, received=64)
    replay = replay_of(builder.build())
    assert replay.relative_error == 0.0
    # rank 1: 2.0 + 2.9 to the barriers, then 2.1 s to the exchange and 0.7 s behind it
    assert replay.ideal_runtime_s == pytest.approx(2.0 + 2.9 + 2.1 + 0.7)
    faster = replay.predict([Edit(ranks=(1,), factor=0.0)])
    assert faster is not None
    # rank 0 works 1.0 s to the first barrier; behind it it never waited for rank 1
    assert faster.gain_s == pytest.approx(2.0 - 1.0)


def test_communicator_creation_is_kept_as_it_was() -> None:
    builder = two_ranks()
    for number in (0, 1):
        builder.rank(number).op("MPI_Comm_split", 7.0, 7.5)
    replay = replay_of(builder.build())
    assert replay.relative_error == 0.0
    assert replay.ideal_runtime_s == pytest.approx(2.0 + 2.9 + 2.9)
    told, silent = replay.predict([Edit()]), replay_of(two_ranks().build()).predict([Edit()])
    assert told is not None
    assert silent is not None
    assert CREATION in told.assumptions
    assert CREATION not in silent.assumptions


@pytest.mark.parametrize("focus", ["2:4", "2.5:3.05", "3.05:8", "step:5-9", "phase:evaluate"])
def test_any_part_of_a_run_can_be_replayed(focus: str) -> None:
    trace = training_run(Plan(steps=20, evaluate_s=1.0, evaluate_every=5))
    replay = replay_of(trace, focus)
    assert replay.reason == ""
    assert replay.relative_error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "plan", [Plan(steps=40), Plan(steps=40, evaluate_s=1.0), Plan(steps=40, unlucky_s=0.1)]
)
def test_ideal_runtime_agrees_with_the_closed_formula(plan: Plan) -> None:
    results = compute(training_run(plan), Options())
    replay = SegmentReplay(results)
    closed = results.efficiency.transfer_efficiency.value
    assert closed is not None
    assert replay.ideal_runtime_s is not None
    assert replay.ideal_runtime_s / results.efficiency.window_s == pytest.approx(closed, rel=1e-9)
