"""Waiting by kind and by the rank that caused it, in seconds that follow from the times given."""

import pytest
from hypothesis import given, settings

from perfscope.metrics.compute import compute
from perfscope.trace.model import RowFlag, Trace
from tests.metrics import test_partition
from tests.support.random_traces import traces
from tests.support.trace_builder import TraceBuilder

Causes = dict[int | None, float]
LARGE = 1 << 20


def states_of(trace: Trace) -> dict[str, Causes]:
    """Seconds by kind and by the rank that was waited for."""
    found = compute(trace).communication.wait_states
    return {state.kind.value: {one.rank: one.seconds for one in state.by_rank} for state in found}


def job(ranks: int) -> TraceBuilder:
    """Ranks that begin and end together."""
    builder = TraceBuilder(ranks, end_s=30.0)
    for rank in builder.ranks:
        rank.init(0.0).finalize(30.0)
    return builder


def called(name: str, enters: dict[int, float], exits: float, *, root: int = -1) -> Trace:
    """All ranks in one collective."""
    builder = job(len(enters))
    for rank, enter in enters.items():
        builder.rank(rank).op(name, enter, exits, peer=root)
    return builder.build()


def test_late_sender() -> None:
    builder = job(2)
    builder.rank(0).op("MPI_Send", 3.0, 3.1, peer=1, tag=4, sent=100)
    builder.rank(1).op("MPI_Recv", 1.0, 3.2, peer=0, tag=4, received=100)
    assert states_of(builder.build()) == {"late_sender": {0: pytest.approx(2.0)}}


def test_late_sender_of_a_posted_receive() -> None:
    builder = job(2)
    builder.rank(1).op("MPI_Irecv", 1.0, 1.0, peer=0, tag=4, request=1)
    builder.rank(0).op("MPI_Send", 3.0, 3.1, peer=1, tag=4, sent=100)
    wait = builder.rank(1).op("MPI_Wait", 1.5, 3.2)
    wait.completion("MPI_Irecv", 3.1, 1, peer=0, tag=4)
    assert states_of(builder.build()) == {"late_sender": {0: pytest.approx(1.5)}}


def test_late_receiver() -> None:
    builder = job(2)
    builder.rank(0).op("MPI_Send", 1.0, 4.5, peer=1, tag=4, sent=LARGE)
    builder.rank(1).op("MPI_Recv", 4.0, 4.5, peer=0, tag=4)
    assert states_of(builder.build()) == {"late_receiver": {1: pytest.approx(3.0)}}


def test_late_receiver_that_is_in_another_call() -> None:
    """What the receiver was inside when it came says nothing of the kind of the wait."""
    builder = job(3)
    alone = builder.communicator([1])
    builder.rank(0).op("MPI_Isend", 1.0, 1.0, peer=1, tag=4, sent=LARGE, request=1)
    builder.rank(0).op("MPI_Wait", 2.0, 6.5).completion("MPI_Isend", 6.4, 1)
    builder.rank(1).op("MPI_Irecv", 0.5, 0.5, peer=0, tag=4, request=1)
    builder.rank(1).op("MPI_Barrier", 6.0, 6.6, comm=alone)
    builder.rank(1).op("MPI_Wait", 7.0, 7.1, request=1).completion("MPI_Irecv", 7.0, 1)
    assert states_of(builder.build()) == {"late_receiver": {1: pytest.approx(4.0)}}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MPI_Barrier", "barrier"),
        ("torch.distributed.barrier", "barrier"),
        ("MPI_Allreduce", "n_to_n"),
        ("MPI_Alltoall", "n_to_n"),
        ("torch.distributed.all_reduce", "n_to_n"),
    ],
)
def test_the_last_rank_at_an_operation_of_all(name: str, kind: str) -> None:
    states = states_of(called(name, {0: 1.0, 1: 3.0, 2: 2.5}, 4.0))
    assert states == {kind: {1: pytest.approx(2.0 + 0.5)}}


def test_a_wait_is_of_the_kind_of_the_collective_that_completed_in_it() -> None:
    builder = job(2)
    for rank, post, enter in ((0, 1.0, 2.0), (1, 5.0, 5.5)):
        builder.rank(rank).op("MPI_Ibarrier", post, post, request=3)
        builder.rank(rank).op("MPI_Wait", enter, 6.0).completion("MPI_Ibarrier", 5.9, 3)
    assert states_of(builder.build()) == {"barrier": {1: pytest.approx(3.0)}}


def test_late_broadcast() -> None:
    """Two ranks wait for the root, which comes before a third; that one makes nobody wait."""
    builder = job(4)
    for rank, enter, leave in ((0, 3.0, 3.1), (1, 1.0, 3.2), (2, 2.0, 3.2), (3, 5.0, 5.1)):
        builder.rank(rank).op("MPI_Bcast", enter, leave, peer=0)
    assert states_of(builder.build()) == {"late_broadcast": {0: pytest.approx(2.0 + 1.0)}}


def test_late_broadcast_whose_root_is_last() -> None:
    """Such a broadcast cannot tell whether it synchronizes, and need not."""
    states = states_of(called("MPI_Bcast", {0: 3.0, 1: 1.0, 2: 2.0}, 3.2, root=0))
    assert states == {"late_broadcast": {0: pytest.approx(2.0 + 1.0)}}


def test_a_broadcast_that_synchronizes_waits_for_the_last_as_an_operation_of_all() -> None:
    states = states_of(called("MPI_Bcast", {0: 1.0, 1: 2.0, 2: 4.0}, 4.5, root=0))
    assert states == {"n_to_n": {2: pytest.approx(3.0 + 2.0)}}


def test_early_reduce() -> None:
    builder = job(3)
    for rank, enter, leave in ((0, 1.0, 4.2), (1, 2.0, 2.1), (2, 4.0, 4.1)):
        builder.rank(rank).op("MPI_Reduce", enter, leave, peer=0)
    assert states_of(builder.build()) == {"early_reduce": {2: pytest.approx(3.0)}}


def test_a_reduction_that_synchronizes_holds_the_others_as_an_operation_of_all() -> None:
    states = states_of(called("MPI_Reduce", {0: 1.0, 1: 2.0, 2: 4.0}, 4.5, root=0))
    assert states == {"early_reduce": {2: pytest.approx(3.0)}, "n_to_n": {2: pytest.approx(2.0)}}


def test_early_scan() -> None:
    """Rank 1 waits for rank 0, rank 2 for nobody, though it comes last."""
    states = states_of(called("MPI_Scan", {0: 2.0, 1: 1.0, 2: 3.0}, 5.0))
    assert states == {"early_scan": {0: pytest.approx(1.0)}}


def test_finalize() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0).finalize(5.0)
    builder.rank(1).init(1.0).finalize(8.0)
    assert states_of(builder.build()) == {"finalize": {1: pytest.approx(3.0)}}


def test_polling_waits_for_nobody_known() -> None:
    builder = job(2)
    builder.rank(1).op("MPI_Send", 4.0, 4.1, peer=0, tag=1)
    poller = builder.rank(0).op("MPI_Irecv", 0.5, 0.5, peer=1, tag=1, request=1)
    poller.op("MPI_Test", 1.0, 3.0, request=500, flags=RowFlag.COALESCED)
    poller.op("MPI_Test", 3.9, 4.2).completion("MPI_Irecv", 4.15, 1, peer=1, tag=1)
    assert states_of(builder.build()) == {
        "polling": {None: pytest.approx(2.0)},
        "late_sender": {1: pytest.approx(0.1)},
    }


def test_a_rank_that_never_came_is_nobody_known() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0).op("MPI_Barrier", 4.0, 10.0, flags=RowFlag.OPEN)
    builder.rank(1).init(1.0).finalize(9.0)
    assert states_of(builder.build())["barrier"] == {None: pytest.approx(5.0)}


def test_only_the_focus_counts() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for rank, enter, start in ((0, 1.0, 0.5), (1, 4.0, 3.0)):
        builder.rank(rank).init(start).op("MPI_Barrier", enter, 5.0).finalize(8.0)
    assert states_of(builder.build()) == {"barrier": {1: pytest.approx(1.0)}}


@settings(max_examples=30, deadline=None)
@given(traces())
def test_the_kinds_add_up_to_all_waiting(trace: Trace) -> None:
    assert_kinds_add_up(trace)


@settings(max_examples=30, deadline=None)
@given(test_partition.traces())
def test_they_add_up_where_records_were_lost_or_ranks_never_came(trace: Trace) -> None:
    assert_kinds_add_up(trace)


def assert_kinds_add_up(trace: Trace) -> None:
    """Every wait is of one kind, and counts once."""
    found = compute(trace).communication
    told = sum(state.seconds for state in found.wait_states)
    assert told == pytest.approx(sum(found.wait_s_by_rank), rel=1e-12, abs=1e-12)
