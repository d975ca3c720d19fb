"""Rows that a layer computes and a selection drops, as a few backward passes told them."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
TOLD = {"looks": 4, "rows": 4800, "used": 200, "layer": [900, 96]}
LINE = "forward\x1f/home/me/model.py\x1f28"


def judged(told: Any, *lines: str) -> Finding:
    """Steps of 100 ms of both ranks, 40 ms of them in the backward pass."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        noted = {"frameworks": {"torch": {"selected_rows": told}}, "selections": [*lines]}
        rank.set(metadata=noted)
        for step, begin in rank.steps(STEPS, 0.1):
            rank.phase(PhaseKind.BACKWARD, begin + 0.04, begin + 0.08, step=step)
            rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["selected_rows"]


def test_what_the_layer_takes_for_them_both_ways_is_saved() -> None:
    """Half of the 40 ms are the layer's, 46 of 48 rows of it for nothing, and half more."""
    finding = judged({**TOLD, "chain_ns": 50, "whole_ns": 100}, LINE)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(1.5 * 0.5 * (46 / 48) * 0.04 * STEPS, rel=0.05)
    assert finding.ranks == (0, 1)
    assert finding.title == "Of 1,200 rows that a layer computes, the loss needs 50"
    assert [(one.function, one.line) for one in finding.where] == [("forward", 28)]
    assert "(model.py:28): select the rows that are used" in finding.actions[0]


def test_of_several_lines_none_is_named() -> None:
    finding = judged({**TOLD, "chain_ns": 50, "whole_ns": 100}, LINE, LINE)
    assert finding.actions[0].startswith("Select the rows")
    assert finding.where == ()  # not the line of the backward pass, which is not to change


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {**TOLD, "chain_ns": 0, "whole_ns": 100},
        {**TOLD, "chain_ns": 200, "whole_ns": 100},
        {**TOLD, "used": 4800, "chain_ns": 50, "whole_ns": 100},
        {**TOLD, "looks": 0, "chain_ns": 50, "whole_ns": 100},
        {**TOLD, "layer": 3, "chain_ns": 50, "whole_ns": 100},
        {**TOLD, "chain_ns": 50, "whole_ns": 10000},
    ],
    ids=[
        "nothing",
        "odd",
        "none",
        "more than all",
        "all used",
        "no look",
        "no layer",
        "too little",
    ],
)
def test_what_is_no_fault(told: Any) -> None:
    assert judged(told).status is Status.PASS
