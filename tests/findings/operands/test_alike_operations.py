"""Small operations that are alike, as a few backward passes and the samples around them tell."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
TOLD = {"graphs": 2, "looks": 2, "operations": 410, "small": 402, "alike": 400, "kinds": 20}
TIMES = {"turns": 20, "alike_ns": 50, "whole_ns": 100}
STEP = ("steps", "/job/model.py", 9)
ASKING = ("steps", "/job/model.py", 10)
PAIRS = ("pairs", "/job/model.py", 32)
ADDED = ("torch.add", "<built-in>", 0)
ENGINE = ("backward", "/lib/python3.11/site-packages/torch/_tensor.py", 5)
LOOPS = [
    {"place": "steps\x1f/job/model.py\x1f5", "lines": [[8, 12]]},
    {"place": "pairs\x1f/job/model.py\x1f29", "lines": [[31, 33]]},
]


def judged(told: Any, loops: Any = LOOPS) -> Finding:
    """Steps of 100 ms of both ranks: 30 ms in a loop, then 60 ms in the backward pass."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        noted = {"frameworks": {"torch": {"alike_operations": told}}, "loops": loops}
        rank.set(metadata=noted)
        for step, begin in rank.steps(STEPS, 0.1):
            for at in range(6):
                rank.stack(begin + 0.005 * at + 0.002, [STEP, PAIRS, ADDED])
            for at in range(12):
                rank.stack(begin + 0.005 * at + 0.032, [ASKING, ENGINE])
            rank.phase(PhaseKind.BACKWARD, begin + 0.03, begin + 0.09, step=step)
            rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["alike_operations"]


def test_all_but_one_of_each_kind_are_saved_at_most() -> None:
    """Half of the backward passes, and the loop before them, but for 20 of 400 operations."""
    finding = judged({**TOLD, **TIMES})
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.95 * (0.03 + 0.03) * STEPS, rel=0.1)
    assert finding.ranks == (0, 1)
    assert "200 small operations" in finding.title
    first = finding.where[0]
    assert (first.function, first.line) == ("pairs", 31)  # where the loop begins


def test_a_loop_that_nobody_saw_is_not_named() -> None:
    finding = judged({**TOLD, **TIMES}, loops=LOOPS[:1])
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.95 * 0.03 * STEPS, rel=0.1)
    assert "model.py:31" not in finding.title


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {**TOLD, **TIMES, "alike_ns": 0},
        {**TOLD, **TIMES, "alike_ns": 200},
        {**TOLD, **TIMES, "graphs": "2"},
        {**TOLD, **TIMES, "small": 4000},
        {**TOLD, **TIMES, "kinds": 400},
    ],
    ids=["nothing", "odd", "none", "more than all", "a text", "a few of many", "each its own"],
)
def test_what_is_no_fault(told: Any) -> None:
    assert judged(told).status is Status.PASS
