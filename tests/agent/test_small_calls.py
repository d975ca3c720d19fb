"""How long the turns of the program's loops take, and which instructions take their time."""

import dis
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, small_calls
from perfscope.agent.perfscope_agent.pace import Budget
from perfscope.agent.perfscope_agent.places import Places
from tests.agent.jobs import LOOKS, RANK_ZERO, Job
from tests.agent.test_operands import worked_in

TURNING = (
    LOOKS
    + """
def short(count):
    for _ in range(count):
        sum(range(5))
def long(count):
    for _ in range(count):
        sum(range(1500))
def outer(count):
    for _ in range(count):
        once()
def once():
    sum(range(20))
for function, count in (short, 5000), (long, 200), (outer, 5000):
    last = after(40)
    while looks["samples"] < last:
        function(count)
"""
)


def test_turns_are_timed_where_the_program_is(job: Callable[..., Job]) -> None:
    done = job(TURNING, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    told = done.process.metadata["operands"]["small_calls"]
    found = {one["place"].split("\x1f")[0]: one for one in told}
    assert {"short", "long"} <= set(found)
    assert found["short"]["turns"] > 0
    assert found["long"]["turns"] > 0
    # three hundred times as much is done in each
    assert found["long"]["turn_ns"] > 5 * found["short"]["turn_ns"]
    assert found["short"]["lines"] is not None
    assert found["once"]["lines"] is None
    for one in found.values():
        assert sum(one["counts"]) <= one["looks"]


class Library:
    """A recorder that has timed turns."""

    def __init__(self, rows: Sequence[tuple[int, int, int, int, float, float]]) -> None:
        self.rows = list(rows)

    def turns_are_timed(self) -> int:
        return len(self.rows)

    def turn_times(self) -> list[tuple[int, int, int, int, float, float]]:
        told, self.rows = self.rows, []
        return told


def looped() -> tuple[Any, int, int]:
    """A function with a loop in it: its code, and an instruction before and one in that."""

    def function(values: list[float]) -> float:
        total = values[0]
        for value in values:
            total = total + value
        return total

    code = function.__code__
    adds = [one.offset for one in dis.get_instructions(code) if one.opname.startswith("BINARY_")]
    return code, adds[0], adds[-1]


def test_only_turns_of_the_loop_itself_count() -> None:
    code, before, inside = looped()
    other, _ = worked_in("z = x * 2")
    seen = small_calls.SmallCalls()
    for number in range(6):
        seen.see([(other if number < 2 else code, inside), (code, inside)], number, 2)
    timed = [
        (3, id(code), inside, 2, 600.0, 200000.0),
        (4, id(code), before, 9, 900.0, 9e9),  # in another loop, or in none
        (5, id(other), inside, 9, 900.0, 9e9),  # of what it calls
        (99, id(code), inside, 9, 900.0, 9e9),  # of no look
    ]
    library: Any = Library(timed)
    seen.time(library)
    (told,) = [one for one in seen.told(Places(), {id(code): 7}) if one["lines"]]
    assert told["turns"] == 2
    assert told["turn_ns"] == 333
    assert told["looks"] == sum(told["counts"])
    assert told["operand_looks"] == 7


WHOLE = [
    ("z = x * y", ["x", "y"]),
    ("z = x.a + 2", ["x.a"]),
    ("x *= y", ["x", "y"]),
    ("z = x[y]", []),
    ("z = x[y] * 2", []),
    ("z = x * y[0] + z", ["x", "z"]),
    ("z = -x", ["x"]),
    ("z = np.exp(y)", ["np.exp", "y"]),
    ("z = np.exp(y[0])", []),
    ("x[y] += z[y]", []),
]


@pytest.mark.parametrize(("text", "expected"), WHOLE, ids=[one[0] for one in WHOLE])
def test_which_variables_are_taken_as_a_whole(text: str, expected: list[str]) -> None:
    code, _ = worked_in(text)
    assert small_calls.taken_whole(code, 0, len(code.co_code)) == expected


def test_calls_on_one_value_are_timed_once_any_loop_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "facts", {})
    assert small_calls.measure(Budget()) is False
    monkeypatch.setattr(metadata, "facts", {"operands": {"small_calls": [{"turns": 1}]}})
    assert small_calls.measure(Budget()) is True
    told = metadata.facts["empty_calls"]["numpy"]
    assert told["empty_ns"] > told["value_ns"] > 0
