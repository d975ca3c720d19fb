"""Threads that wait for CPUs because of their own number, and because of others."""

import pytest

from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(
    ("runnable", "queued", "status"),
    [(2, 1.0, Status.FAIL), (2, 2.5, Status.FAIL), (2, 0.04, Status.PASS), (1, 4.0, Status.INFO)],
)
def test_own_threads_explain_as_much_as_there_are_too_many(
    runnable: int, queued: float, status: Status
) -> None:
    """Two ranks on two CPUs: four threads wait half of the time, that is 1 s for each CPU second.

    Where they wait 2.5 s for it, their number still explains half of 71 %.
    """
    assert title_and_status(runnable, queued)[1] is status


def test_a_few_threads_too_many_do_not_explain_that_others_have_the_cpus() -> None:
    """2.6 threads on two CPUs wait a quarter of the time; these wait four fifths of it."""
    title, status = title_and_status(1.3, 4.0)
    assert status is Status.INFO
    assert "other processes use" in title
    assert title_and_status(1.3, 0.3)[1] is Status.WARN


def title_and_status(runnable: float, queued: float) -> tuple[str, Status]:
    """Of two ranks on two CPUs, each with so many runnable threads in the mean."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        rank.set(cpus_allowed="0-1", cpu_count_allowed=2)
        for tick in range(1, 111):
            at = tick / 10
            now = int(runnable) + (tick % 10 < round(10 * (runnable % 1)))
            rank.process_sample(
                at, cpu_s=at / 2, queue_delay_s=queued * at / 2, threads=4, runnable=now
            )
    trace = builder.set(environment={"topology": {"node0": {"cpus": 2}}}).build()
    found = analyze_trace(trace).findings["threads_over_cores"]
    return found.title, found.status
