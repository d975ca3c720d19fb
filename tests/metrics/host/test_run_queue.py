"""Waiting of main threads for a CPU: in closed form."""

import pytest

from perfscope.attribution.focus import Focus
from perfscope.metrics.compute import compute
from perfscope.metrics.host.cpu_takers import cpu_takers
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


def test_work_that_is_over_within_a_turn_is_no_waiting() -> None:
    """100 times 1 ms of work before an exchange: of 9 in 10 the rank waits for 9 ms more."""
    builder = TraceBuilder(2, end_s=4.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(3.9)
        begin = 1.0
        for step in range(100):
            end = begin + (0.010 if step % 10 else 0.001)
            rank.op("MPI_Allreduce", end, end + 0.02, comm=0, seq=step)
            begin = end + 0.02
        for tick in range(41):
            rank.main_sample(tick / 10, cpu_s=tick / 200, queue_delay_s=tick / 10 * 0.95)
    found = compute(builder.build()).resources.cpu_waits[0]
    dealt_s = 0.95 * found.work_s
    assert found.in_work_s < dealt_s
    assert found.work_s - found.in_work_s == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("others", [0.0, 0.1, 0.6])
@pytest.mark.parametrize(("queued", "share"), [(0.0, 0.0), (0.6, 0.6), (1.2, 0.75)])
def test_who_sleeps_while_threads_of_its_process_lack_a_cpu_waits_for_one(
    queued: float, share: float, others: float
) -> None:
    """The main thread sleeps in all of 8 s, and threads of a pool run for 0.4 CPUs or wait.

    Of that, others have as large a part as of the time that all ran on the CPU, or what the pool
    did not run, and no more than they ran.
    """
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).set(cpu_count_allowed=1, cpus_allowed="0")
    for step in range(8):
        rank.step(step, 2.0 + step, 3.0 + step)
    for tick in range(121):
        at = tick / 10
        rank.main_sample(at, cpu_s=0.0, queue_delay_s=0.0)
        looked = tick // 5 / 2  # at the threads more rarely
        rank.process_sample(at, cpu_s=0.4 * at, queue_delay_s=queued * looked)
        rank.cpu_sample(at, busy_s=(0.4 + others) * at, used_s=0.4 * at, cpus=1)
    (found,) = compute(builder.build()).resources.cpu_waits
    assert found.in_work_s == 0.0
    assert found.in_pool_s == pytest.approx(8.0 * share, rel=0.1)
    assert found.part(is_of_others=False).in_work_s == 0.0
    waited = min(queued, 1.0)
    theirs = max(others / (0.4 + others), 1.0 - 0.4 / waited) if waited else 0.0
    theirs = min(theirs, others / waited) if waited else 0.0  # no more than they ran
    told = found.part(is_of_others=True).in_work_s
    assert told == pytest.approx(theirs * found.in_pool_s, rel=0.05)
    assert (told > 0) == (queued > 0 and theirs > 0)


@pytest.mark.parametrize("others", [0.0, 0.5])
def test_threads_of_a_pool_hold_each_other_up(others: float) -> None:
    """Eight threads of a rank want two CPUs all the time, of which others use some."""
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).set(cpu_count_allowed=2, cpus_allowed="0-1")
    each = (2.0 - others) / 8
    for step in range(8):
        rank.step(step, 2.0 + step, 3.0 + step)
    for tick in range(121):
        at = tick / 10
        rank.main_sample(at, cpu_s=each * at, queue_delay_s=(1.0 - each) * at)
        rank.process_sample(at, cpu_s=8 * each * at, queue_delay_s=8 * (1.0 - each) * at)
        rank.cpu_sample(at, busy_s=2.0 * at, used_s=8 * each * at, cpus=2)
    focus = Focus(2 * 10**9, 10 * 10**9, "steps", "")
    takers = cpu_takers(builder.build().ranks[0], builder.build().ranks, focus)
    assert takers.pool_share == pytest.approx(others / 2.0, abs=0.01)
    assert takers.share == pytest.approx(others / 2.0, abs=0.05)
