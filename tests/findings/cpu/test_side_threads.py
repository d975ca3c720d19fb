"""A thread beside the main thread that takes the CPU which both of them have."""

import pytest

from perfscope.attribution.stack_rules import SYSTEM_CALL
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 100
PUT = "futex"
TICKS = STEPS + 20


def judged(
    *, on: tuple[int, ...] = (1,), is_beside: bool = True, rests: bool = False
) -> dict[str, Finding]:
    """Two ranks on a CPU each with 50 ms of work in steps of 0.1 s; on some it takes 90 ms.

    That is as the main thread waits for its CPU, which a thread beside it has meanwhile. Or it
    waits as well, in every fourth step, until what it made is taken.
    """
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        rank.set(cpus_allowed=str(number), cpu_count_allowed=1)
        is_crowded = number in on
        for step, begin in rank.steps(STEPS, 0.1):
            ends = begin + (0.09 if is_crowded else 0.05)
            rank.op("MPI_Allreduce", ends, begin + 0.1, comm=0, seq=step)
            rank.stack(begin + 0.02, [("update", "/job/search.py", 54)])
            rank.stack(begin + 0.04, [("update", "/job/search.py", 54)])
            if is_crowded and is_beside:
                waiting = [("Queue.put", "queue.py", 9), (PUT, SYSTEM_CALL, 0)]
                listening = [("listen", "/job/search.py", 35)]
                does = [*listening, *waiting] if rests and step % 4 == 0 else listening
                rank.stack(begin + 0.03, does, tid=77)
        for tick in range(1, TICKS):
            at = 0.1 * tick
            lost = 0.4 * at if is_crowded else 0.0
            rank.main_sample(at, cpu_s=at - lost, queue_delay_s=lost)
            beside_s = lost if is_beside else 0.0
            rank.process_sample(
                at,
                cpu_s=at - lost + beside_s,
                queue_delay_s=lost + beside_s,
                threads=3,
                runnable=2 if is_crowded else 1,
            )
        if is_crowded and is_beside:
            rank.thread("python", tid=77, cpu_s=6.0)
    return dict(analyze_trace(builder.build()).findings)


def test_the_thread_is_told_first_with_its_rank_and_what_it_costs() -> None:
    found = judged()
    crowded, uneven = found["threads_over_cores"], found["load_imbalance"]
    assert crowded.status is Status.FAIL
    assert crowded.ranks == (1,)
    assert "of rank 1 takes a CPU all the time in listen()" in crowded.title
    assert crowded.gain_s == pytest.approx(0.04 * STEPS, rel=0.15)
    assert "listen()" in crowded.actions[0]
    assert not uneven.status.is_fault
    assert uneven.gain is None


def test_a_thread_that_waits_until_its_work_is_taken_works_as_asked() -> None:
    """Nothing is saved by making it sleep: a rank that does as much has to have more CPUs."""
    crowded = judged(rests=True)["threads_over_cores"]
    assert "takes a CPU" not in crowded.title
    assert crowded.gain is None
    assert crowded.actions[0].startswith("Give each rank 2 CPUs: ")
    assert "listen() (search.py:35)" in crowded.actions[0]
    assert not any("sleep" in one for one in crowded.actions)


def test_without_such_a_thread_none_is_told() -> None:
    found = judged(is_beside=False)
    assert "takes a CPU" not in found["threads_over_cores"].title
