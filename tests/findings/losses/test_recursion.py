"""Python code of functions that call themselves, told from others of one name."""

import pytest

from perfscope.findings.losses.changes import OF_RECURSION
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
FILE = "/job/model.py"
SOLVES = [("main", FILE, 98), ("numpy.linalg.solve", "<built-in>", 0)]


@pytest.mark.parametrize(
    ("lines", "calls_itself"),
    [
        ((10, 10, 12), True),
        ((10, 30, 52), False),  # Net.forward, which calls Block.forward, which calls Head.forward
        ((12,), False),
    ],
    ids=["recursive", "nested", "plain"],
)
def test_a_function_that_calls_itself_does_so_at_one_line(
    lines: tuple[int, ...], calls_itself: bool
) -> None:
    """Python 3.10 and older tell no class of a method."""
    builder = TraceBuilder(2, end_s=3.0 + STEPS / 10)
    stack = [("main", FILE, 99), *(("forward", FILE, line) for line in lines)]
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            rank.stack(begin + 0.01 * tick, stack if tick < 6 else SOLVES)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_interpreter"]
    assert (OF_RECURSION[5:30] in found.actions[0]) is calls_itself


@pytest.mark.parametrize("between", [[], [("builtins.sum", "<built-in>", 0)]], ids=["list", "sum"])
def test_what_a_library_calls_back_is_a_part_of_the_function(
    between: list[tuple[str, str, int]],
) -> None:
    """A generator that is added up stands in the function that adds it up, at the same line."""
    builder = TraceBuilder(2, end_s=3.0 + STEPS / 10)
    own = ("score", FILE, 12)
    stack = [("main", FILE, 99), own, *between, *([own] if between else [])]
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            rank.stack(begin + 0.01 * tick, stack if tick < 6 else SOLVES)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    found = analyze_trace(builder.build()).findings["lost_to_interpreter"]
    assert OF_RECURSION[5:30] not in found.actions[0]
