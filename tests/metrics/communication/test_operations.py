"""What operations cost: totals that are never dropped, waits from the records."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.trace.model import RowFlag
from perfscope.trace.operations import code_of
from tests.support.trace_builder import TraceBuilder


def job() -> TraceBuilder:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Allreduce", 2.0 + number, 4.0, sent=8, received=8)
    return builder


def test_by_hand() -> None:
    results = compute(job().build()).communication
    allreduce = next(o for o in results.operations if o.name == "MPI_Allreduce")
    assert (allreduce.calls, allreduce.detailed_calls) == (2, 2)
    assert allreduce.seconds == pytest.approx(3.0)
    assert allreduce.seconds_by_rank == pytest.approx((2.0, 1.0))
    assert (allreduce.bytes_sent, allreduce.bytes_received) == (16, 16)
    assert allreduce.wait_s == pytest.approx(1.0)
    assert allreduce.transfer_s == pytest.approx(2.0)
    init = next(o for o in results.operations if o.name == "MPI_Init")
    assert init.wait_s is None
    assert results.wait_s_by_rank == pytest.approx((1.0, 0.0))
    assert results.transfer_s_by_rank == pytest.approx((1.0, 1.0))
    assert results.matched_calls == 2
    assert [o.seconds for o in results.operations] == sorted(
        (o.seconds for o in results.operations), reverse=True
    )


def test_totals_count_what_was_dropped() -> None:
    builder = job()
    builder.rank(0).set(totals={53: (1000, 5 * 10**9, 8000, 8000)}, detail_end_ns=5 * 10**9)
    allreduce = next(
        o for o in compute(builder.build()).communication.operations if o.name == "MPI_Allreduce"
    )
    assert (allreduce.calls, allreduce.detailed_calls) == (1001, 2)
    assert allreduce.seconds == pytest.approx(6.0)


def test_communication_of_another_thread_does_not_stop_the_main_one() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Allreduce", 2.0, 6.0, tid=555)
    results = compute(builder.build())
    assert results.efficiency.parallel_efficiency.value == 1.0
    assert results.communication.wait_s_by_rank == (0.0, 0.0)
    assert results.efficiency.transfer_efficiency.value is None
    assert results.communication.operations[0].seconds == pytest.approx(8.0)


def test_of_polls_that_are_recorded_as_one_the_calls_alone_count() -> None:
    """1,000 tests of 1 ms stand for 2 s in which the program also ran code of its own.

    Two that are recorded as they are keep all of their 0.5 s of waiting.
    """
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(1).init(1.0).op("MPI_Send", 4.0, 4.1, peer=0, tag=1).finalize(9.0)
    rank = builder.rank(0).init(0.4).op("MPI_Irecv", 0.5, 0.5, peer=1, tag=1, request=1)
    rank.op("MPI_Test", 1.5, 3.5, request=1000, flags=RowFlag.COALESCED).finalize(9.0)
    rank.op("MPI_Test", 5.0, 5.25).op("MPI_Test", 6.0, 6.25)
    rank.set(totals={code_of("MPI_Test"): (1002, 1_500_000_000, 0, 0)})
    results = compute(builder.build()).communication
    polls = next(o for o in results.operations if o.name == "MPI_Test")
    assert (polls.calls, polls.seconds) == (1002, 1.5)
    assert polls.wait_s == pytest.approx(1.5)
    assert polls.transfer_s == 0.0
    assert results.wait_s_by_rank[0] == pytest.approx(2.5)  # the whole loop does nothing else


def test_the_time_of_single_calls_is_none_of_those_recorded_as_one() -> None:
    """A test that is served at once takes 1 s and waits for nothing; 100 others wait for 0.1 s."""
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(1).init(0.4).op("MPI_Send", 4.0, 4.1, peer=0, tag=1).finalize(9.0)
    rank = builder.rank(0).init(0.4).op("MPI_Irecv", 0.5, 0.5, peer=1, tag=1, request=1)
    rank.op("MPI_Test", 1.0, 3.0, request=100, flags=RowFlag.COALESCED)
    rank.op("MPI_Test", 5.0, 6.0).completion("MPI_Irecv", 5.95, 1, peer=1, tag=1).finalize(9.0)
    rank.set(totals={code_of("MPI_Test"): (101, 1_100_000_000, 0, 0)})
    operations = compute(builder.build()).communication.operations
    polls = next(one for one in operations if one.name == "MPI_Test")
    assert polls.wait_s == pytest.approx(0.1)
    assert polls.transfer_s == pytest.approx(1.0)
