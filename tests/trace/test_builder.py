"""Traces made by hand are traces."""

import numpy as np

from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import Ending
from tests.support.trace_builder import TraceBuilder
from tests.support.trace_invariants import check_trace


def test_a_trace_of_two_ranks() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        rank.op("MPI_Allreduce", 4.0, 5.0, sent=8, received=8).op("MPI_Allreduce", 2.0, 3.0)
        rank.phase(PhaseKind.USER, 1.0, 2.0, name="mine").step(1, 2.0, 5.0, samples=32)
        rank.stack(1.0, [("main", "a.py", 1), ("work", "a.py", 7)])
        rank.metric("loss", 3.0, 0.25).process_sample(1.0, rss_bytes=5).thread("x", tid=9)
    builder.rank(1).set(ending=Ending(EndKind.KILLED, 9))
    trace = builder.build()
    check_trace(trace)
    first = trace.ranks[0]
    assert first.operations["t0"].tolist() == [0, 2 * 10**9, 4 * 10**9, 9_500_000_000]
    assert first.operations["seq"].tolist() == [-1, 1, 0, -1]
    assert first.init_exit_ns == 500_000_000
    assert first.totals[53] == (2, 2 * 10**9, 8, 8)
    assert trace.names == ["mine", "loss"]
    assert [trace.frames[i].function for i in trace.stacks[0]] == ["main", "work"]
    assert trace.ranks[1].ending.code == 9
    assert first.threads[0].name == "x"


def test_samples_of_the_main_thread_are_those_of_the_table_as_it_is_now() -> None:
    builder = TraceBuilder(1, end_s=4.0)
    builder.rank(0).stack(1.0, [("main", "a.py", 1)])
    rank = builder.build().ranks[0]
    assert rank.main_stacks["t"].tolist() == [10**9]
    rank.stacks["t"] += 5
    assert rank.main_stacks["t"].tolist() == [10**9 + 5]
    rank.stacks = rank.stacks[:0]
    assert not len(rank.main_stacks)


def test_sub_communicators_count_their_own_sequence() -> None:
    builder = TraceBuilder(3, end_s=4.0)
    pair = builder.communicator([0, 2])
    builder.rank(0).op("MPI_Barrier", 1.0, 2.0).op("MPI_Barrier", 2.0, 3.0, comm=pair)
    trace = builder.build()
    assert trace.ranks[0].operations["seq"].tolist() == [0, 0]
    assert trace.communicators[pair].members == (0, 2)
    assert np.all(trace.ranks[1].operations["t0"] == 0)
    assert trace.missing_ranks == []
