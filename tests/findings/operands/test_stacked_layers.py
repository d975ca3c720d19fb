"""Layers that one application would do for, as a few backward passes and times told them."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
TOLD = {
    "looks": 2,
    "kind": "Linear",
    "times": 12,
    "layer": [900, 96],
    "taken": [8, 96],
    "certain": True,
    "parts_ns": 50,
    "whole_ns": 100,
    "apart_ns": [2900, 3000, 3100],
    "apart_back_ns": [2000, 2000, 2000],
    "stacked_ns": [900, 1000, 1100],
}


def judged(told: Any) -> Finding:
    """Steps of 100 ms of both ranks, 40 ms of them in the backward pass."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        rank.set(metadata={"frameworks": {"torch": {"stacked": told}}})
        for step, begin in rank.steps(STEPS, 0.1):
            rank.phase(PhaseKind.BACKWARD, begin + 0.04, begin + 0.08, step=step)
            rank.op("MPI_Allreduce", begin + 0.09, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["stacked_layers"]


def test_what_the_stacked_form_takes_less_is_saved_both_ways() -> None:
    """Half of the 40 ms are the layer's; per 2000 ns of that it takes 2000 ns less both ways."""
    finding = judged(TOLD)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.5 * 0.04 * STEPS, rel=0.05)
    assert finding.ranks == (0, 1)
    assert finding.title == "A linear layer is applied 12 times where once would do"
    assert "`layer(torch.stack(states, dim=1))`" in finding.actions[0]
    assert "3 times as fast" in finding.summary


def test_the_range_takes_in_what_was_timed() -> None:
    narrow = {**TOLD, "apart_ns": [3000] * 3, "stacked_ns": [1000] * 3}
    known, wide = judged(narrow).gain, judged(TOLD).gain
    assert known is not None
    assert wide is not None
    assert known.interval_s is not None
    assert wide.interval_s is not None
    assert wide.interval_s[0] < known.interval_s[0] <= known.interval_s[1] < wide.interval_s[1]


def test_what_may_depend_on_a_result_is_only_noted() -> None:
    finding = judged({**TOLD, "certain": False})
    assert finding.status is Status.INFO
    assert finding.gain is None
    assert "is not seen" in finding.summary
    assert finding.title.endswith("where once might do")


@pytest.mark.parametrize("kind", ["Embedding", "Convolution"])
def test_other_layers_are_told_by_what_they_are(kind: str) -> None:
    finding = judged({**TOLD, "kind": kind})
    assert finding.status is Status.FAIL
    assert finding.title.startswith(f"An {kind.lower()}" if kind[0] == "E" else f"A {kind.lower()}")


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {**TOLD, "kind": "Pool"},
        {**TOLD, "times": 1},
        {**TOLD, "parts_ns": 0},
        {**TOLD, "parts_ns": 200},
        {**TOLD, "looks": 0},
        {**TOLD, "apart_ns": 3},
        {**TOLD, "apart_ns": [3000, 3000]},
        {**TOLD, "apart_back_ns": [0, 0, 0]},
        {**TOLD, "stacked_ns": [900, 1000, 3200]},
        {**TOLD, "stacked_ns": [3000, 3000, 3000]},
        {**TOLD, "whole_ns": 10000},
    ],
    ids=[
        "nothing",
        "odd",
        "another layer",
        "once",
        "no time",
        "more than all",
        "no look",
        "not timed",
        "timed by halves",
        "no time backwards",
        "not clear of zero",
        "not faster",
        "too little",
    ],
)
def test_what_is_no_fault(told: Any) -> None:
    assert judged(told).status is Status.PASS
