"""Gradients of parameters that no optimizer holds, as a few backward passes told them."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
TOLD = {"parameters": 16, "values": 46704, "largest": [64, 48, 3, 3], "looks": 4}


def judged(told: Any) -> Finding:
    """Steps of 100 ms of both ranks, 60 ms of them in the backward pass."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        rank.set(metadata={"frameworks": {"torch": {"unused_gradients": told}}})
        for step, begin in rank.steps(STEPS, 0.1):
            rank.phase(PhaseKind.BACKWARD, begin + 0.03, begin + 0.09, step=step)
            rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["unused_gradients"]


def test_their_part_of_the_backward_passes_is_saved() -> None:
    finding = judged({**TOLD, "needless_ns": 50, "whole_ns": 100})
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.03 * STEPS, rel=0.05)
    assert finding.ranks == (0, 1)
    assert "16 parameters" in finding.title


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {**TOLD, "needless_ns": 0, "whole_ns": 100},
        {**TOLD, "needless_ns": 200, "whole_ns": 100},
        {**TOLD, "needless_ns": "50", "whole_ns": 100},
        {**TOLD, "looks": 0, "needless_ns": 50, "whole_ns": 100},
        {**TOLD, "needless_ns": 50, "whole_ns": 10000},
    ],
    ids=["nothing", "odd", "none", "more than all", "a text", "no look", "too little to act on"],
)
def test_what_is_no_fault(told: Any) -> None:
    assert judged(told).status is Status.PASS
