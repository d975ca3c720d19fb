"""Waits for input that come once in a run, told from those that come again."""

from collections.abc import Collection

import pytest

from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 4
"""Too few to tell what is chance by how they differ."""


@pytest.mark.parametrize(
    ("waited_s", "step_s", "steps", "status"),
    [
        pytest.param(0.3, 1.0, {0}, Status.INFO, id="once"),
        pytest.param(0.3, 1.0, {2}, Status.INFO, id="once, later"),
        pytest.param(0.1, 1.0, {0, 1, 3}, Status.FAIL, id="again and again"),
        pytest.param(1.2, 4.0, {0}, Status.FAIL, id="for long"),
        pytest.param(0.3, 0.4, {0}, Status.FAIL, id="much of a short run"),
    ],
)
def test_a_short_wait_that_comes_once_is_no_problem(
    waited_s: float, step_s: float, steps: Collection[int], status: Status
) -> None:
    """As for a first batch: its share is the less the longer a run is."""
    builder = TraceBuilder(2, end_s=30.0)
    for number in (0, 1):
        rank, begin = builder.rank(number).init(1.0), 1.0
        for step in range(STEPS):
            waits_s = waited_s if step in steps else 0.0
            if waits_s:
                rank.phase(PhaseKind.INPUT, begin, begin + waits_s)
            end = begin + waits_s + step_s
            rank.step(step, begin, end).op("MPI_Allreduce", end - 0.01, end, seq=step)
            begin = end
        rank.finalize(begin)
    found = analyze_trace(builder.build()).findings["data_stall"]
    assert found.gain_s == pytest.approx(waited_s * len(steps), rel=0.05)
    assert found.status is status
