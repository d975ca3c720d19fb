"""Waiting of main threads for a CPU: in closed form."""

import pytest

from perfscope.metrics.compute import compute
from tests.support.trace_builder import TraceBuilder


def built() -> TraceBuilder:
    """Two ranks that work for 0.8 s of each second and then exchange; rank 1 has its own CPU."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for step in range(10):
            rank.op("MPI_Allreduce", 1.8 + step, 2.0 + step, comm=0, seq=step)
        for tick in range(121):
            waited_s = max(0.0, tick / 10 - 5.0) / 4 if number == 0 else 0.0
            rank.main_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=waited_s)
    return builder


def test_it_is_told_by_what_the_rank_was_in() -> None:
    """From 5 s to 11 s a quarter of the time: 4.8 s of work and 1.2 s of transfer."""
    waits = compute(built().build()).resources.cpu_waits
    assert [one.rank for one in waits] == [0, 1]
    assert waits[0].work_s == pytest.approx(8.0)
    assert waits[0].in_work_s == pytest.approx(4.8 / 4)
    assert waits[0].transfer_s == pytest.approx(2.0)
    assert waits[0].in_transfer_s == pytest.approx(1.2 / 4)
    assert waits[1].lost_s == 0.0


def test_what_was_not_sampled_is_not_told() -> None:
    trace = built().build()
    trace.ranks[1].main_samples = trace.ranks[1].main_samples[:0]
    assert [one.rank for one in compute(trace).resources.cpu_waits] == [0]
