"""What one rank works on alone, and how the data gets there: one finding, or two."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 60
MAIN = ("main", "/job/solve.py", 40)
SWEEP = ("sweep", "/job/solve.py", 20)
GATHER = ("converged", "/job/solve.py", 65)
NORM = ("converged", "/job/solve.py", 69)
ELSEWHERE = ("collect", "/job/solve.py", 80)


def judged(
    operation: str = "MPI_Gatherv", moving: tuple[str, str, int] = GATHER
) -> dict[str, Finding]:
    """Steps of 100 ms: both ranks sweep, 30 ms go to a collective, and rank 0 works for 30 ms."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(4):
            rank.stack(begin + 0.002 + 0.01 * tick, [MAIN, SWEEP])
        for tick in range(3):
            rank.stack(begin + 0.042 + 0.01 * tick, [MAIN, moving])
        sent = 0 if rank.number == 0 else 1 << 23
        got = 1 << 23 if rank.number == 0 else 0
        rank.op(operation, begin + 0.04, begin + 0.069, seq=2 * step, sent=sent, received=got)
        if rank.number == 0:
            for tick in range(3):
                rank.stack(begin + 0.0695 + 0.01 * tick, [MAIN, NORM])
        asked = begin + (0.099 if rank.number == 0 else 0.07)
        rank.op("MPI_Bcast", asked, begin + 0.0999, seq=2 * step + 1, sent=8, received=8)
    return analyze_trace(builder.build()).findings


def test_what_a_rank_gathers_and_works_on_alone_is_one_finding() -> None:
    """Without 29 ms of transfer and half of 30 ms of work, of 100 ms."""
    found = judged()
    works, moves = found["load_imbalance"], found["network_bound"]
    assert works.status is Status.FAIL
    assert works.title == (
        "Rank 0 works alone on what MPI_Gatherv gathers in converged() (solve.py:65), while rank 1 "
        "waits"
    )
    assert works.gain_s == pytest.approx(STEPS * (0.029 + 0.015), rel=0.05)
    assert works.gain is not None
    assert works.gain.is_bound
    assert [one.line for one in works.where] == [69, 65]
    assert works.actions[0].startswith("Have each rank do its part")
    assert moves.status is Status.INFO
    assert moves.gain is None
    assert not moves.actions
    assert "load_imbalance" in moves.overlaps


@pytest.mark.parametrize(
    ("operation", "moving"), [("MPI_Allgatherv", GATHER), ("MPI_Gatherv", ELSEWHERE)]
)
def test_what_all_ranks_get_or_another_function_moves_is_told_by_itself(
    operation: str, moving: tuple[str, str, int]
) -> None:
    moves = judged(operation, moving)["network_bound"]
    assert moves.status is Status.FAIL
    assert "send half as many values" in moves.actions[0]
