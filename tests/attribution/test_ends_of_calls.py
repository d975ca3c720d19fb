"""Samples of what a call does last, taken at the function of C behind it on the line."""

import pytest

from perfscope.attribution.ends_of_calls import with_ends_of_calls
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

LINE = ("main", "/job/sweep.py", 36)
OTHER = ("main", "/job/sweep.py", 40)
SOLVES = (LINE, ("fit", "/job/sweep.py", 14), ("numpy.linalg.solve", "<built-in>", 0))
CONVERTS = (LINE, ("builtins.float", "<built-in>", 0))
SORTS = (OTHER, ("builtins.sorted", "<built-in>", 0))
WRITES = (LINE, ("io.TextIOWrapper.write", "<built-in>", 0))


def leaves(*seen: tuple[tuple[str, str, int], ...]) -> list[str]:
    """The innermost functions of samples, one each 20 ms, as they are told then."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0)
    for tick, stack in enumerate(seen):
        rank.stack(1.0 + 0.02 * tick, stack)
    trace: Trace = with_ends_of_calls(builder.build())
    numbers = trace.ranks[0].stacks["stack"].tolist()
    return [trace.frames[trace.stacks[number][-1]].function for number in numbers]


def test_what_is_seen_behind_a_call_is_the_end_of_it() -> None:
    """The arrays of `fit` are given back when it returns, and `float` is what follows."""
    assert leaves(*(SOLVES, SOLVES, CONVERTS) * 5) == ["numpy.linalg.solve"] * 15
    assert leaves(*(SOLVES, SOLVES, SOLVES, CONVERTS, CONVERTS) * 5) == ["numpy.linalg.solve"] * 25


@pytest.mark.parametrize("stack", [SORTS, WRITES])
def test_functions_of_other_lines_and_those_that_let_others_look_stay(
    stack: tuple[tuple[str, str, int], ...],
) -> None:
    found = leaves(*(SOLVES, SOLVES, stack) * 5)
    assert found.count(stack[-1][0]) == 5


def test_a_function_that_takes_longer_than_the_call_stays() -> None:
    assert leaves(*(SOLVES, CONVERTS, CONVERTS) * 5).count("builtins.float") == 10


def test_a_function_that_is_seen_alone_stays() -> None:
    assert leaves(*(SOLVES, SOLVES, SOLVES), *(CONVERTS, SORTS) * 2).count("builtins.float") == 2
