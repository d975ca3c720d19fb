"""Wait and transfer of each kind of operation, by the need rules."""

from collections.abc import Mapping

import numpy as np
import pytest

from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.waits import split_operations
from perfscope.metrics.compute import compute
from perfscope.trace.model import PEER_NONE, PEER_PROC_NULL, PEER_UNKNOWN, RowFlag
from perfscope.trace.operations import name_of
from tests.support.trace_builder import TraceBuilder


def waits_of(builder: TraceBuilder) -> dict[tuple[int, str], list[float | None]]:
    """By (rank, operation): the wait of each call in order of time, None where it is not known."""
    trace = builder.build()
    waits = split_operations(trace)
    result: dict[tuple[int, str], list[float | None]] = {}
    for position in range(len(trace.ranks)):
        for row in range(*waits.of_rank(position).indices(len(waits.pool))):
            wait = (int(waits.need[row]) - int(waits.pool.enter[row])) / 1e9
            key = (position, name_of(int(waits.pool.op[row])))
            result.setdefault(key, []).append(wait if waits.known[row] else None)
    return result


def collective(
    name: str, enters: Mapping[int, float], exits: float, *, peer: int = PEER_NONE
) -> TraceBuilder:
    builder = TraceBuilder(len(enters), end_s=20.0)
    for rank, enter in enters.items():
        builder.rank(rank).op(name, enter, exits, peer=peer)
    return builder


@pytest.mark.parametrize("name", ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall"])
def test_n_to_n_waits_for_the_last(name: str) -> None:
    waits = waits_of(collective(name, {0: 1.0, 1: 3.0, 2: 2.5}, 4.0))
    assert [waits[rank, name] for rank in range(3)] == [[2.0], [0.0], [0.5]]


def test_who_sends_nothing_is_not_waited_for() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).op("MPI_Allgatherv", 1.0, 4.0, sent=8)
    builder.rank(1).op("MPI_Allgatherv", 3.0, 4.0, sent=0)
    waits = waits_of(builder)
    assert waits[0, "MPI_Allgatherv"] == [0.0]
    assert waits[1, "MPI_Allgatherv"] == [0.0]


def test_bcast_waits_for_the_root_only() -> None:
    builder = TraceBuilder(3, end_s=20.0)
    for turn in range(3):
        at = 5.0 * turn
        builder.rank(0).op("MPI_Bcast", at + 2.0, at + 2.1, peer=0, sent=8)
        builder.rank(1).op("MPI_Bcast", at + 1.0, at + 2.2, peer=0, received=8)
        builder.rank(2).op("MPI_Bcast", at + 4.0, at + 4.1, peer=0, received=8)
    waits = waits_of(builder)
    assert waits[0, "MPI_Bcast"] == [0.0] * 3
    assert waits[1, "MPI_Bcast"] == [1.0] * 3
    assert waits[2, "MPI_Bcast"] == [0.0] * 3


def test_reduce_lets_all_but_the_root_go() -> None:
    builder = TraceBuilder(3, end_s=20.0)
    for turn in range(3):
        at = 5.0 * turn
        builder.rank(0).op("MPI_Reduce", at + 1.0, at + 4.2, peer=0)
        builder.rank(1).op("MPI_Reduce", at + 2.0, at + 2.1, peer=0)
        builder.rank(2).op("MPI_Reduce", at + 4.0, at + 4.1, peer=0)
    waits = waits_of(builder)
    assert waits[0, "MPI_Reduce"] == [3.0] * 3
    assert waits[1, "MPI_Reduce"] == [0.0] * 3


def test_a_rooted_collective_that_synchronizes_is_n_to_n() -> None:
    waits = waits_of(collective("MPI_Reduce", {0: 1.0, 1: 2.0, 2: 4.0}, 4.5, peer=0))
    assert [waits[rank, "MPI_Reduce"] for rank in range(3)] == [[3.0], [2.0], [0.0]]


def test_scan_waits_for_lower_ranks_of_the_communicator() -> None:
    builder = TraceBuilder(3, end_s=20.0)
    turned = builder.communicator([2, 0, 1])
    for rank, enter in ((0, 2.0), (1, 1.0), (2, 3.0)):
        builder.rank(rank).op("MPI_Scan", enter, 5.0)
        builder.rank(rank).op("MPI_Scan", enter + 6, 11.0, comm=turned)
    waits = waits_of(builder)
    assert waits[0, "MPI_Scan"] == [0.0, 1.0]
    assert waits[1, "MPI_Scan"] == [1.0, 2.0]
    assert waits[2, "MPI_Scan"] == [0.0, 0.0]


def test_sub_communicators_are_apart() -> None:
    builder = TraceBuilder(4, end_s=20.0)
    even, odd = builder.communicator([0, 2]), builder.communicator([1, 3])
    for rank, comm, enter in ((0, even, 1.0), (2, even, 2.0), (1, odd, 4.0), (3, odd, 3.0)):
        builder.rank(rank).op("MPI_Barrier", enter, 5.0, comm=comm)
    waits = waits_of(builder)
    assert [waits[rank, "MPI_Barrier"] for rank in range(4)] == [[1.0], [0.0], [0.0], [1.0]]


def test_receive_waits_for_the_sender_and_small_sends_for_nobody() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for turn in range(2):
        builder.rank(0).op("MPI_Send", 3.0 + turn, 3.2 + turn, peer=1, tag=4, sent=100)
        builder.rank(1).op("MPI_Recv", 1.0 + 2.5 * turn, 3.3 + turn, peer=0, tag=4, received=100)
    waits = waits_of(builder)
    assert waits[1, "MPI_Recv"] == [2.0, 0.5]
    assert waits[0, "MPI_Send"] == [0.0, 0.0]


def test_large_and_synchronous_sends_wait_until_the_receiver_is_inside_mpi() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).op("MPI_Send", 1.0, 5.0, peer=1, tag=4, sent=1 << 20)
    builder.rank(0).op("MPI_Ssend", 6.0, 8.0, peer=1, tag=4, sent=1)
    builder.rank(1).op("MPI_Recv", 4.0, 5.0, peer=0, tag=4)
    builder.rank(1).op("MPI_Recv", 7.0, 8.0, peer=0, tag=4)
    waits = waits_of(builder)
    assert waits[0, "MPI_Send"] == [3.0]
    assert waits[0, "MPI_Ssend"] == [1.0]
    assert waits[1, "MPI_Recv"] == [0.0, 0.0]


def test_the_limit_up_to_which_sends_leave_at_once_is_learned_by_size() -> None:
    """64 KiB are gone before the receiver comes, 1 MiB are not; who comes early tells nothing."""
    builder = TraceBuilder(2, end_s=40.0)
    for turn in range(3):
        at = 10.0 * turn
        builder.rank(0).op("MPI_Send", at + 1.0, at + 1.5, peer=1, tag=1, sent=1 << 16)
        builder.rank(0).op("MPI_Send", at + 2.0, at + 4.5, peer=1, tag=2, sent=1 << 20)
        builder.rank(0).op("MPI_Send", at + 6.0, at + 7.0, peer=1, tag=3, sent=1 << 20)
        builder.rank(1).op("MPI_Recv", at + 3.0, at + 3.1, peer=0, tag=1)
        builder.rank(1).op("MPI_Recv", at + 4.0, at + 4.5, peer=0, tag=2)
        builder.rank(1).op("MPI_Recv", at + 5.0, at + 7.0, peer=0, tag=3)
    assert waits_of(builder)[0, "MPI_Send"] == [0.0, 2.0, 0.0] * 3


def test_a_wait_for_a_large_send_needs_the_receiver_inside_any_call() -> None:
    """The receive was posted long before, and the receiver computed until it came to a barrier."""
    builder = TraceBuilder(3, end_s=20.0)
    alone = builder.communicator([1])
    builder.rank(0).op("MPI_Isend", 1.0, 1.0, peer=1, tag=4, sent=1 << 20, request=1)
    builder.rank(0).op("MPI_Wait", 2.0, 6.5, request=1).completion("MPI_Isend", 6.4, 1)
    builder.rank(1).op("MPI_Irecv", 0.5, 0.5, peer=0, tag=4, request=1)
    builder.rank(1).op("MPI_Barrier", 6.0, 6.6, comm=alone)
    builder.rank(1).op("MPI_Wait", 7.0, 7.1, request=1).completion("MPI_Irecv", 7.0, 1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Wait"] == [4.0]
    assert waits[1, "MPI_Wait"] == [0.0]


def test_a_large_send_to_an_unknown_receiver_is_left_open() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).op("MPI_Send", 1.0, 5.0, peer=1, tag=4, sent=1 << 20)
    builder.rank(0).op("MPI_Isend", 6.0, 6.0, peer=1, tag=4, sent=1 << 20, request=1)
    builder.rank(0).op("MPI_Wait", 7.0, 8.0, request=1).completion("MPI_Isend", 7.9, 1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Send"] == [None]
    assert waits[0, "MPI_Wait"] == [None]


def test_messages_of_one_channel_keep_their_order_across_kinds_of_receives() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).op("MPI_Isend", 2.0, 2.0, peer=1, tag=4, request=1)
    builder.rank(0).op("MPI_Send", 6.0, 6.1, peer=1, tag=4)
    builder.rank(0).op("MPI_Send", 3.0, 3.1, peer=1, tag=5)
    receiver = builder.rank(1)
    receiver.op("MPI_Irecv", 0.5, 0.5, peer=0, tag=4, request=9)
    receiver.op("MPI_Recv", 1.0, 6.2, peer=0, tag=4)
    receiver.op("MPI_Wait", 7.0, 7.1).completion("MPI_Irecv", 7.05, 9, peer=0, tag=4)
    receiver.op("MPI_Recv", 8.0, 8.1, peer=0, tag=5)
    waits = waits_of(builder)
    assert waits[1, "MPI_Recv"] == [5.0, 0.0]
    assert waits[1, "MPI_Wait"] == [0.0]


def test_wait_takes_the_latest_of_what_completed_in_it() -> None:
    builder = TraceBuilder(3, end_s=20.0)
    builder.rank(1).op("MPI_Send", 4.0, 4.1, peer=0, tag=1)
    builder.rank(2).op("MPI_Send", 5.0, 5.1, peer=0, tag=1)
    waiter = builder.rank(0)
    waiter.op("MPI_Irecv", 1.0, 1.0, peer=1, tag=1, request=1)
    waiter.op("MPI_Irecv", 1.1, 1.1, peer=2, tag=1, request=2)
    waiter.op("MPI_Waitall", 2.0, 5.2, request=2)
    waiter.completion("MPI_Irecv", 5.1, 1, peer=1, tag=1)
    waiter.completion("MPI_Irecv", 5.1, 2, peer=2, tag=1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Waitall"] == [3.0]
    assert waits[0, "MPI_Irecv"] == [0.0, 0.0]


def test_wait_on_a_nonblocking_collective_needs_all_posts() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for rank, post, enter in ((0, 1.0, 2.0), (1, 5.0, 5.5)):
        builder.rank(rank).op("MPI_Iallreduce", post, post, request=3)
        builder.rank(rank).op("MPI_Wait", enter, 6.0).completion("MPI_Iallreduce", 5.9, 3)
    waits = waits_of(builder)
    assert waits[0, "MPI_Wait"] == [3.0]
    assert waits[1, "MPI_Wait"] == [0.0]


def test_a_probe_waits_for_the_message_that_the_next_receive_takes() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for turn in range(2):
        at = 5.0 * turn
        builder.rank(0).op("MPI_Send", at + 3.0, at + 3.1, peer=1, tag=4)
        builder.rank(1).op("MPI_Mprobe", at + 1.0, at + 3.1, peer=0, tag=4)
        builder.rank(1).op("MPI_Mrecv", at + 3.2, at + 3.3, peer=0, tag=4)
    waits = waits_of(builder)
    assert waits[1, "MPI_Mprobe"] == [2.0, 2.0]
    assert waits[1, "MPI_Mrecv"] == [0.0, 0.0]


def test_polling_is_waiting_and_a_successful_test_is_a_wait() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(1).op("MPI_Send", 4.0, 4.1, peer=0, tag=1)
    poller = builder.rank(0).op("MPI_Irecv", 0.0, 0.0, peer=1, tag=1, request=1)
    poller.op("MPI_Test", 1.0, 3.0, request=500, flags=RowFlag.COALESCED)
    poller.op("MPI_Test", 3.9, 4.2).completion("MPI_Irecv", 4.15, 1, peer=1, tag=1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Test"] == [2.0, pytest.approx(0.1)]


def test_exchanges_in_a_ring() -> None:
    builder = TraceBuilder(3, end_s=20.0)
    for rank in range(3):
        for turn in range(2):
            enter = 1.0 + 5 * turn + rank
            builder.rank(rank).op(
                "MPI_Sendrecv",
                enter,
                4.0 + 5 * turn,
                peer=(rank + 1) % 3,
                tag=7,
                seq=(rank - 1) % 3,
                request=7 + 1,
            )
    waits = waits_of(builder)
    assert waits[0, "MPI_Sendrecv"] == [2.0, 2.0]
    assert waits[1, "MPI_Sendrecv"] == [0.0, 0.0]


def test_an_exchange_whose_halves_meet_different_calls() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    exchange = builder.rank(0).op
    exchange("MPI_Sendrecv", 1.0, 4.0, peer=1, tag=1, seq=1, request=3, sent=8)
    exchange("MPI_Sendrecv", 5.0, 5.1, peer=1, tag=1, seq=PEER_PROC_NULL, sent=8)
    exchange("MPI_Sendrecv", 6.0, 6.1, peer=1, tag=1, seq=PEER_UNKNOWN, sent=8)
    builder.rank(1).op("MPI_Recv", 0.5, 1.5, peer=0, tag=1)
    builder.rank(1).op("MPI_Send", 3.0, 3.1, peer=0, tag=2)
    builder.rank(1).op("MPI_Recv", 5.5, 5.6, peer=0, tag=1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Sendrecv"] == [2.0, 0.0, None]
    assert waits[1, "MPI_Recv"] == [0.5, 0.0]
    assert compute(builder.build()).communication.unmatched == {"MPI_Sendrecv": 1}


def test_ranks_in_finalize_wait_for_the_last_one() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).init(1.0).finalize(5.0)
    builder.rank(1).init(1.0).finalize(8.0)
    results = compute(builder.build())
    assert results.communication.wait_s_by_rank == (3.0, 0.0)
    assert results.communication.late_arrivals[0].waiting_s == 3.0


def test_a_rank_that_never_came_was_waited_for() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).op("MPI_Barrier", 4.0, 10.0, flags=RowFlag.OPEN)
    trace = builder.build()
    waits = split_operations(trace)
    assert (waits.need[0], bool(waits.known[0])) == (10 * 10**9, True)


def test_calls_without_partners_are_counted_by_name() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    builder.rank(0).op("MPI_Barrier", 1.0, 2.0).op("MPI_Send", 3.0, 4.0, peer=1, tag=1)
    builder.rank(1).op("MPI_Recv", 3.0, 4.0, peer=0, tag=2)
    builder.rank(1).op("MPI_Recv", 5.0, 6.0, peer=-2, tag=2)
    results = compute(builder.build())
    assert results.communication.unmatched == {"MPI_Barrier": 1, "MPI_Send": 1, "MPI_Recv": 2}
    assert results.communication.matched_calls == 0


def test_nobody_is_a_partner_that_is_known() -> None:
    """A rank at the edge sends to MPI_PROC_NULL and receives from it."""
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0)
    rank.op("MPI_Recv", 1.0, 1.1, peer=PEER_PROC_NULL, tag=1)
    rank.op("MPI_Probe", 2.0, 2.1, peer=PEER_PROC_NULL, tag=1)
    rank.op("MPI_Send", 3.0, 3.1, peer=PEER_PROC_NULL, tag=1, sent=1 << 20)
    rank.op("MPI_Isend", 4.0, 4.1, peer=PEER_PROC_NULL, tag=1, sent=8, request=1)
    rank.op("MPI_Irecv", 5.0, 5.1, peer=PEER_PROC_NULL, tag=1, request=2)
    rank.op("MPI_Sendrecv", 6.0, 6.1, peer=PEER_PROC_NULL, tag=1, seq=PEER_PROC_NULL)
    waits = waits_of(builder)
    assert set(map(tuple, waits.values())) == {(0.0,)}
    assert compute(builder.build()).communication.unmatched == {}


def test_a_wait_for_messages_of_which_some_are_for_nobody() -> None:
    """As at the edge of a grid: what is for nobody is over at once, the others are as ever."""
    builder = TraceBuilder(2, end_s=20.0)
    edge = builder.rank(0)
    edge.op("MPI_Isend", 1.0, 1.1, peer=1, tag=1, sent=8, request=1)
    edge.op("MPI_Irecv", 1.1, 1.2, peer=PEER_PROC_NULL, tag=1, request=2)
    edge.op("MPI_Waitall", 1.2, 1.3, request=2)
    edge.completion("MPI_Isend", 1.3, 1).completion("MPI_Irecv", 1.3, 2, peer=PEER_PROC_NULL)
    other = builder.rank(1)
    other.op("MPI_Irecv", 0.1, 0.2, peer=0, tag=1, request=1)
    other.op("MPI_Isend", 0.2, 0.3, peer=PEER_PROC_NULL, tag=1, request=2)
    other.op("MPI_Waitall", 0.5, 1.3, request=2)
    other.completion("MPI_Irecv", 1.3, 1, peer=0, tag=1).completion("MPI_Isend", 1.3, 2)
    waits = waits_of(builder)
    assert waits[0, "MPI_Waitall"] == [0.0]
    assert waits[1, "MPI_Waitall"] == [0.5]


@pytest.mark.parametrize("peer", [PEER_UNKNOWN, 1])
def test_messages_of_unknown_and_of_unrecorded_ranks_are_counted(peer: int) -> None:
    """Of rank 1 there is no recording."""
    builder = TraceBuilder(2, end_s=20.0)
    rank = builder.rank(0)
    rank.op("MPI_Send", 1.0, 1.1, peer=peer, tag=1, sent=8)
    rank.op("MPI_Isend", 2.0, 2.1, peer=peer, tag=1, sent=8, request=1)
    rank.op("MPI_Irecv", 3.0, 3.1, peer=peer, tag=1, request=2)
    rank.op("MPI_Recv", 4.0, 4.1, peer=peer, tag=1)
    rank.op("MPI_Sendrecv", 5.0, 5.1, peer=peer, tag=1, seq=PEER_PROC_NULL)
    rank.op("MPI_Sendrecv", 6.0, 6.1, peer=PEER_PROC_NULL, tag=1, seq=peer)
    trace = builder.build()
    trace.ranks = trace.ranks[:1]
    assert split_operations(trace).unmatched == {
        "MPI_Send": 1,
        "MPI_Isend": 1,
        "MPI_Irecv": 1,
        "MPI_Recv": 1,
        "MPI_Sendrecv": 2,
    }


def test_clocks_that_cannot_be_compared_give_no_waits() -> None:
    builder = TraceBuilder(2, end_s=20.0, hosts=("a", "b"))
    alone = builder.communicator([1])
    for rank in (0, 1):
        builder.rank(rank).op("MPI_Barrier", 1.0 + rank, 3.0)
    builder.rank(1).op("MPI_Barrier", 4.0, 5.0, comm=alone)
    builder.rank(1).set(clock_error_ns=10**9, clock_domain=1)
    waits = waits_of(builder)
    assert waits[0, "MPI_Barrier"] == [None]
    assert waits[1, "MPI_Barrier"] == [None, 0.0]


@pytest.mark.parametrize("place", ["members", "waiting"])
def test_a_row_that_is_none_is_refused_where_one_must_be(place: str) -> None:
    pool = split_operations(collective("MPI_Barrier", {0: 1.0, 1: 2.0}, 3.0).build()).pool
    none, unknown = np.empty(0, np.int64), np.array([-1])
    members = unknown if place == "members" else none
    with pytest.raises(ValueError, match="does not fit the rows"):
        engine.split_calls(
            pool,
            CODES,
            collective=(members, members, members),
            waiting=unknown if place == "waiting" else none,
            send_of=np.full(len(pool), -1),
            completed=(none, none),
            main_tids=np.zeros(2, np.uint32),
            is_one_clock=True,
        )
