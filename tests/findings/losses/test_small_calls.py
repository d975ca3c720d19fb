"""Loops whose calls are over as soon as empty ones are Python code; long calls are computation."""

import json
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Frame
from perfscope.trace.small_calls import empty_calls, loops_seen
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 60
FILE = "/home/me/heat.py"
MAIN = ("main", FILE, 40)
SMOOTH = ("smooth", FILE, 14)
UPDATE = ("update", FILE, 30)
OPERATOR = ("numpy.ndarray.operator", "<built-in>", 0)
LAYER = ("linear", "/opt/env/lib/python3.12/site-packages/torch/nn/functional.py", 2)
PLACE = f"smooth\x1f{FILE}\x1f10"
EMPTY = {"numpy": {"empty_ns": 800.0, "value_ns": 0.5}}
TURN: dict[str, Any] = {
    "place": PLACE,
    "lines": [13, 15],
    "looks": 100,
    "turns": 40,
    "turn_ns": 2000,
    "counts": [25, 25, 20, 20, 10],
}


def site(**changes: Any) -> dict[str, Any]:
    form = {"byte_order": "native", "shape": [4000], "elements": [4000, 4000], "dtype": "float64"}
    operand = {"name": "field", "looks": 10, "kind": "array", "contents": 9, **form, **changes}
    looks = {"looks": 10, "whole_looks": 10, "contents": 9, "is_innermost": True}
    return {
        "place": "\x1f".join(map(str, SMOOTH)),
        **looks,
        "operands": [operand],
    }


def found(
    turn: dict[str, Any] | None = None,
    *,
    sites: list[dict[str, Any]] | None = None,
    empty: Any = None,
    leaf: FrameLike = OPERATOR,
) -> dict[str, Finding]:
    """Two ranks that are in one line of a loop for 6 of the 10 parts of each step of 100 ms."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            own = (
                (MAIN, SMOOTH, leaf) if tick < 6 else (MAIN, UPDATE, ("numpy.dot", "<built-in>", 0))
            )
            rank.stack(begin + 0.01 * tick + 0.005, own)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    loops = [{"place": PLACE, "lines": [[12, 16], [13, 15]]}]
    told = {"looks": 10, "cpu_ns": 1, "sites": sites or [], "small_calls": [turn or TURN]}
    known = EMPTY if empty is None else empty
    for number in range(2):
        noted = {"operands": told, "loops": loops, "empty_calls": known}
        builder.rank(number).set(metadata=noted)
    return analyze_trace(builder.build()).findings


def told(*args: Any, **changes: Any) -> Finding | None:
    return found(*args, **changes).get("lost_to_interpreter")


def test_a_loop_of_calls_on_a_few_values_is_lost_time() -> None:
    finding = told()
    assert finding is not None
    assert finding.status is Status.FAIL
    assert finding.confidence is Confidence.MEDIUM
    assert finding.is_inferred  # whether turns depend on each other is not seen
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.gain.seconds == pytest.approx(0.06 * STEPS, rel=0.05)
    assert finding.where[0] == Frame(*SMOOTH)
    assert finding.title.startswith("Calls on a few values each, in a loop of Python, take 3.6")
    assert "ompute all turns of the loop in lines 13 to 15 with op" in finding.actions[0]
    values = {row.label: row.value for row in finding.evidence}
    assert values["A turn of the loop there takes about"] == pytest.approx(2e-6)
    # of 2 us, by the squares of the parts: 0.215
    assert values["An instruction of its bytecode takes about"] == pytest.approx(0.43e-6)


@pytest.mark.parametrize(
    "turn",
    [
        {"turn_ns": 40000},  # each of five takes some 8 us
        {"counts": [90, 5, 5], "turn_ns": 20000},  # one takes 18 us, the others little
        {"lines": [12, 16]},  # another loop
        {"looks": 3, "counts": [1, 1, 1]},  # may be chance
        {"turn_ns": 0},
        {"turns": 3},  # too few of them were timed
        {"turn_ns": 200, "counts": [95, 5]},  # no call takes 190 ns: few of the turns make it
    ],
)
def test_long_calls_are_computation(turn: dict[str, Any]) -> None:
    assert told({**TURN, **turn}) is None


def test_a_loop_in_which_one_of_many_calls_is_long_is_told_by_the_short_ones() -> None:
    assert told({**TURN, "turn_ns": 6000, "counts": [45] + [11] * 5}) is not None
    assert told({**TURN, "turn_ns": 6000, "counts": [55] + [9] * 5}) is None


def test_values_that_take_a_part_of_a_call() -> None:
    """Of 4,000 values one call takes 2 us beside its 0.8; of 40 it takes nothing beside it."""
    whole = {**TURN, "whole": ["other", "field"], "operand_looks": 3}
    assert told(whole, sites=[site()]) is None
    assert told({**whole, "operand_looks": 0}) is None
    assert told(sites=[site()]) is not None  # it picks some of them
    finding = told(whole, sites=[site(elements=[40, 40], shape=[40])])
    assert finding is not None
    assert finding.title.startswith("Calls on a few values each, in a loop of Python, take ")
    seen = {**whole, "whole": ["field"]}  # all that is taken as a whole was looked at
    finding = told(seen, sites=[site(elements=[40, 40], shape=[40])])
    assert finding is not None
    assert finding.title.startswith("Calls on at most 40 values each, in a loop of Python, take ")


@pytest.mark.parametrize("leaf", [("dict.get", "<built-in>", 0), ("pandas.get", "<built-in>", 0)])
def test_only_libraries_are_told_whose_empty_calls_were_timed(leaf: FrameLike) -> None:
    finding = told(leaf=leaf)
    assert finding is None or not finding.title.startswith("Calls on")


def test_what_learns_is_not_told_value_by_value() -> None:
    small = {"elements": [4, 4], "shape": [4], "kind": "tensor"}
    assert told(sites=[site(**small)]) is not None
    assert told(sites=[site(**small, requires_grad=True)]) is None
    empty = {"torch": {"empty_ns": 800.0, "value_ns": 0.5}}
    assert found(leaf=LAYER, empty=empty).get("lost_to_interpreter") is None


@pytest.mark.parametrize(
    "empty", [{}, [], {"numpy": 3}, {"numpy": {"empty_ns": -1, "value_ns": 0}}]
)
def test_nothing_is_told_where_no_empty_call_was_timed(empty: Any) -> None:
    assert told(empty=empty) is None


def test_a_comprehension_is_a_loop_of_the_function_around_it() -> None:
    inside = {**TURN, "place": f"smooth.<locals>.<listcomp>\x1f{FILE}\x1f14", "lines": [14, 14]}
    assert told(inside) is not None
    assert told({**inside, "place": f"other.<locals>.<listcomp>\x1f{FILE}\x1f14"}) is None


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        [7],
        [{}],
        [{**TURN, "place": "?"}],
        [{**TURN, "lines": [1]}],
        [{**TURN, "lines": 3}],
    ],
    ids=json.dumps,
)
def test_odd_metadata(odd: Any) -> None:
    builder = TraceBuilder(1, end_s=1.0)
    builder.rank(0).set(metadata={"operands": {"small_calls": odd}, "empty_calls": 5})
    (rank,) = builder.build().ranks
    assert loops_seen(rank) == ()
    assert empty_calls([rank]) == {}
