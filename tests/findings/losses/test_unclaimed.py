"""What is told of losses that no diagnosis explains."""

import pytest

from perfscope.findings.core.finding import Finding
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 60
WORK_S = 0.1
WORK = ("whitening", "/job/train.py", 12)
MEETING = ("in_order", "/job/train.py", 21)


def in_turns(*, seen_waiting: bool) -> Finding:
    """Two ranks that do the same work one after the other, with a barrier after each of them."""
    builder = TraceBuilder(2, end_s=3.0 + 2 * WORK_S * STEPS)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(STEPS):
        begin = 1.0 + 2 * WORK_S * step
        half, end = begin + WORK_S, begin + 2 * WORK_S
        for number, rank in enumerate(ranks):
            worked, waited = ((begin, half), (half, end))[:: 1 if number == 0 else -1]
            for part in (0.2, 0.6):
                rank.stack(worked[0] + part * WORK_S, [("main", "/job/train.py", 40), WORK])
                if seen_waiting:
                    at = waited[0] + part * WORK_S
                    rank.stack(at, [("main", "/job/train.py", 40), MEETING])
            rank.op("MPI_Barrier", half if number == 0 else begin, half, seq=2 * step)
            rank.op("MPI_Barrier", half if number == 0 else end, end, seq=2 * step + 1)
            rank.step(step, begin, end)
            rank.process_sample(end, cpu_s=end, runnable=1)
    for rank in ranks:
        rank.finalize(1.0 + 2 * WORK_S * STEPS)
    return analyze_trace(builder.build()).findings["lost_to_serial_waiting"]


def test_ranks_that_take_turns_are_told_by_where_they_wait_for_each_other() -> None:
    found = in_turns(seen_waiting=True)
    assert (found.where[0].function, found.where[0].line) == MEETING[::2]
    assert WORK[0] in [one.function for one in found.where[1:]]
    assert "in_order() (train.py:21)" in found.title
    assert "whitening() (train.py:12)" in found.title
    assert found.gain_s == pytest.approx(WORK_S * STEPS, rel=0.05)


def test_where_waits_were_not_seen_the_work_is_told() -> None:
    found = in_turns(seen_waiting=False)
    assert [one.function for one in found.where] == [WORK[0]]
    assert "most of it in whitening() (train.py:12)" in found.title
