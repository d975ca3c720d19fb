"""Small operations that are alike, as a few backward passes and the samples around them tell."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.loops import values_seen
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
TOLD = {"graphs": 2, "operations": 410, "small": 402, "alike": 400, "kinds": 20}
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


CHECK = ("steps", "/job/model.py", 11)
CHECKED = ("checked", "/job/model.py", 42)
LATER = ("clipped", "/job/model.py", 52)
LOOPS += [
    {"place": "checked\x1f/job/model.py\x1f39", "lines": [[41, 43]]},
    {"place": "clipped\x1f/job/model.py\x1f49", "lines": [[51, 53]]},
]


def turned(function: str, lines: list[int], turns: int) -> dict[str, Any]:
    """What is noted of a loop that was looked at in its first turn, half way and in its last."""
    place = f"{function}\x1f/job/model.py\x1f{lines[0] - 2}"
    values = [0, turns // 2, turns - 1]
    return {"place": place, "lines": lines, "at_ns": [1, 2, 3], "values": values}


def judged(
    told: Any, loops: Any = LOOPS, turns: int = 20, others: PhaseKind | None = None
) -> Finding:
    """Steps of 100 ms of both ranks: 10 ms in a loop, then 30 ms in the backward pass.

    Before them another loop takes 20 ms, in a phase of `others`, and a third one behind them 30 ms.
    """
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    counts = [
        turned("pairs", [31, 33], turns),
        turned("checked", [41, 43], 20),
        turned("clipped", [51, 53], 20),
    ]
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        noted = {"frameworks": {"torch": {"alike_operations": told}}, "loops": loops}
        noted["loop_turns"] = counts
        rank.set(metadata=noted, loop_turns=values_seen(noted, 0))
        for step, begin in rank.steps(STEPS, 0.1):
            for at in range(4):
                rank.stack(begin + 0.005 * at + 0.002, [CHECK, CHECKED, ADDED])
            for at in range(4, 6):
                rank.stack(begin + 0.005 * at + 0.002, [STEP, PAIRS, ADDED])
            if others is not None:
                rank.phase(others, begin, begin + 0.02, step=step)
            rank.phase(PhaseKind.FORWARD, begin + 0.02, begin + 0.03, step=step)
            for at in range(6):
                rank.stack(begin + 0.005 * at + 0.032, [ASKING, ENGINE])
            rank.phase(PhaseKind.BACKWARD, begin + 0.03, begin + 0.06, step=step)
            for at in range(6):
                rank.stack(begin + 0.005 * at + 0.062, [CHECK, LATER, ADDED])
            rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["alike_operations"]


def test_what_is_seen_of_alike_operations_is_a_note() -> None:
    """A state around the graph is not seen, so that no turn is told to need no other one."""
    finding = judged({**TOLD, **TIMES})
    assert finding.status is Status.INFO
    assert finding.gain is None
    assert finding.ranks == (0, 1)
    assert "200 small operations" in finding.title
    assert "50.0 % of the 2 passes looked at" in finding.summary
    assert "not seen" in finding.summary


@pytest.mark.parametrize(
    ("turns", "others", "named"),
    [
        (20, PhaseKind.EVALUATE, "pairs"),
        (7, PhaseKind.EVALUATE, None),
        (200, PhaseKind.EVALUATE, None),
        (7, None, "checked"),
    ],
    ids=["it", "turns too rarely", "turns more often", "in no phase of its own"],
)
def test_the_loop_lies_before_the_pass_and_turns_as_often(
    turns: int, others: PhaseKind | None, named: str | None
) -> None:
    """That of an evaluation, and that behind the pass, turn as often and take twice as long."""
    finding = judged({**TOLD, **TIMES}, turns=turns, others=others)
    first = finding.where[0]
    assert first.function == (named or "steps")
    assert ("turns about as often" in finding.summary) == (named is not None)


def test_a_loop_that_nobody_saw_is_not_named() -> None:
    finding = judged({**TOLD, **TIMES}, loops=LOOPS[:1], others=PhaseKind.EVALUATE)
    assert finding.status is Status.INFO
    assert finding.where[0] == Frame(*ASKING)
    assert "model.py:31" not in finding.summary


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
