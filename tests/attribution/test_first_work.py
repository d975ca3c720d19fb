"""Work before the first step: a part of the run where it is much of it, and no import."""

import pytest

from perfscope.attribution.focus import Focus, focus_of_analysis
from tests.support.trace_builder import TraceBuilder

FILE = "/job/train.py"
IMPORTS = [
    ("<module>", FILE, 1),
    ("_find_and_load", "<frozen importlib._bootstrap>", 1176),
]
PREPARES = [("<module>", FILE, 20), ("vectorize", FILE, 12)]
TRAINS = [("<module>", FILE, 30), ("train", FILE, 25)]
STEPS, STEP_S = 40, 0.25
LENGTH_S = STEPS * STEP_S


def focus(*before: tuple[list[tuple[str, str, int]], float]) -> Focus:
    """Of one process that does some things before its steps, each for so many seconds."""
    first_s = sum(seconds for _, seconds in before)
    builder = TraceBuilder(1, end_s=first_s + LENGTH_S)
    rank, at_s = builder.rank(0), 0.0
    for stack, seconds in before:
        for tick in range(1, round(10 * seconds) + 1):
            rank.stack(at_s + 0.1 * tick - 0.01, stack)
        at_s += seconds
    for _, begin in rank.steps(STEPS, STEP_S, from_s=first_s):
        rank.stack(begin + 0.1, TRAINS)
    return focus_of_analysis(builder.build())


def test_much_work_before_the_steps_is_a_part_of_the_run() -> None:
    found = focus((IMPORTS, 2.0), (PREPARES, 6.0))
    assert found.kind == "own_work"
    assert found.start_ns / 1e9 == pytest.approx(2.0, abs=0.1)
    assert found.length_ns / 1e9 == pytest.approx(6.0 + LENGTH_S, abs=0.1)
    assert found.reason.startswith("from when it begins the work that it does before")


@pytest.mark.parametrize("before", [(PREPARES, 1.0), (IMPORTS, 8.0)], ids=["little", "imports"])
def test_steps_are_the_run_where_little_of_its_work_comes_before_them(
    before: tuple[list[tuple[str, str, int]], float],
) -> None:
    found = focus(before)
    assert found.kind == "steps"
    assert found.start_ns / 1e9 == pytest.approx(before[1])


def test_an_import_between_two_parts_of_the_work_does_not_end_it() -> None:
    found = focus((PREPARES, 4.0), (IMPORTS, 1.0), (PREPARES, 4.0))
    assert found.kind == "own_work"
    assert found.start_ns / 1e9 == pytest.approx(0.0, abs=0.1)
