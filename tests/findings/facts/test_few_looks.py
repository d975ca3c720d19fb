"""What a few stack samples alone tell is a note, and what was marked needs none."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS, STEP_S, CHECK_S, APART_S = 40, 0.25, 2.0, 0.05
TRAINS = (("main", "/job/train.py", 40), ("numpy.ndarray.dot", "<built-in>", 0))
CHECKS = (("main", "/job/train.py", 60), ("evaluate", "/job/train.py", 12))


def checked(looks: int, *, is_marked: bool = False) -> Finding:
    """Two ranks, of which rank 0 evaluates once, for 2 s, while the other one waits.

    So many looks meet it there.
    """
    builder = TraceBuilder(2, end_s=4.0 + STEPS * STEP_S + CHECK_S)
    for number in range(2):
        rank, now = builder.rank(number).init(1.0), 1.0
        for step in range(STEPS):
            end = now + STEP_S
            for look in range(int((STEP_S - 0.02) / APART_S)):
                rank.stack(now + 0.01 + APART_S * look, TRAINS)
            if step == STEPS // 2:
                end += CHECK_S
                if number == 0 and is_marked:
                    rank.phase(PhaseKind.EVALUATE, end - CHECK_S, end - 0.02)
                for look in range(looks if number == 0 else 0):
                    rank.stack(end - CHECK_S + CHECK_S * look / looks, CHECKS)
            waits = CHECK_S if end - now > STEP_S and number else 0.0
            rank.op("MPI_Allreduce", end - 0.02 - waits, end, comm=0, seq=step)
            rank.step(step, now, end)
            now = end
        rank.finalize(now + 0.5)
    return analyze_trace(builder.build()).findings["rank_zero_evaluation"]


@pytest.mark.parametrize(
    ("looks", "status"),
    [(1, Status.INFO), (3, Status.INFO), (4, Status.FAIL), (20, Status.FAIL)],
)
def test_what_a_rank_does_alone_takes_four_samples(looks: int, status: Status) -> None:
    """The 95 % interval of three is not clear of zero, though the seconds are as many."""
    found = checked(looks)
    assert found.status is status
    assert ("which may be chance" in found.summary) == (status is Status.INFO)


def test_what_was_marked_rests_on_no_sample() -> None:
    found = checked(1, is_marked=True)
    assert found.status is Status.FAIL
    assert "chance" not in found.summary
