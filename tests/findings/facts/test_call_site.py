"""Where the program calls a function."""

import pytest

from perfscope.findings.facts.call_site import call_site
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame
from tests.support.trace_builder import TraceBuilder

TRAIN = ("main", "/job/train.py", 40)
SCORE = ("score", "/job/train.py", 9)
LIBRARY = ("Module.__call__", "/usr/lib/python3/site-packages/torch/nn/modules/module.py", 7)
LAYER = ("Conv.forward", LIBRARY[1], 50)


def results_of(*stacks: list[tuple[str, str, int]]) -> Results:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.5)
    for number, stack in enumerate(stacks):
        rank.stack(1.0 + 0.1 * number, stack)
    rank.finalize(9.0)
    return compute(builder.build())


def called(line: int) -> tuple[str, str, int]:
    return ("main", "/job/train.py", line)


@pytest.mark.parametrize(
    ("lines", "told"),
    [([44, 44, 44, 61], 44), ([44, 44, 61, 61], None), ([], None)],
)
def test_a_line_with_most_calls_is_the_one(lines: list[int], told: int | None) -> None:
    found = results_of(*([called(line), LIBRARY, SCORE, LAYER] for line in lines), [TRAIN])
    site = call_site(found, Frame(*SCORE), [0])
    assert site == (told and Frame(*called(told)))


def test_ranks_that_are_not_asked_for_say_nothing() -> None:
    assert call_site(results_of([called(44), SCORE]), Frame(*SCORE), [1]) is None


def test_a_function_that_calls_itself_is_called_from_outside() -> None:
    found = results_of([called(44), SCORE, SCORE])
    assert call_site(found, Frame(*SCORE), [0]) == Frame(*called(44))
