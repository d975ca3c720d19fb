"""The outermost function that does something and nothing else."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from perfscope.attribution.own_places import outermost_own
from perfscope.trace.model import Frame, Trace

FILE = "/home/me/train.py"
MODULE, LOSS, LISTED, FORWARD, LAYER = (
    Frame("<module>", FILE, 90),
    Frame("estimate_loss", FILE, 60),
    Frame("estimate_loss.<locals>.<listcomp>", FILE, 61),
    Frame("GPT.forward", FILE, 40),
    Frame("linear", "/usr/lib/python3/site-packages/torch/nn/functional.py", 7),
)
FRAMES = (MODULE, LOSS, LISTED, FORWARD, LAYER)
TRACE = cast(
    Trace, SimpleNamespace(frames=FRAMES, stacks=[(0, 3, 4), (0, 1, 2, 3, 4), (0, 4), (0, 1)])
)


@pytest.mark.parametrize(
    ("wanted", "total", "expected"),
    [
        ([0, 20, 0, 0], [50, 20, 0, 0], LOSS),
        ([1, 20, 0, 0], [50, 22, 0, 0], LOSS),  # a sample or two beside an end
        ([0, 20, 0, 0], [50, 40, 0, 0], None),  # it is called elsewhere as well
        ([20, 0, 0, 0], [20, 0, 50, 0], FORWARD),
        ([0, 0, 20, 0], [50, 0, 20, 0], None),  # of the user's there is the module alone
        ([0, 0, 20, 5], [50, 0, 20, 5], None),  # too little of it
        ([0, 80, 0, 0], [5, 80, 0, 0], None),  # of nearly everything no function stands out
        ([0, 0, 0, 0], [50, 0, 0, 0], None),
    ],
)
def test_the_outermost_function_is_named(
    wanted: list[int], total: list[int], expected: Frame | None
) -> None:
    found = outermost_own(TRACE, np.array(wanted, float), total=np.array(total, float))
    assert found == expected


def test_what_only_one_rank_runs() -> None:
    wanted, mine, total = np.array([[0, 9, 0, 0], [0, 20, 0, 10], [50, 20, 0, 10]], float)
    assert outermost_own(TRACE, wanted, mine=mine, total=total) == LOSS


TRAIN, EVALUATED, DIGITS = (
    Frame("train", FILE, 20),
    Frame("train", FILE, 31),
    Frame("accuracy", FILE, 70),
)
SCRIPT, SCRIPT_TESTS = Frame("<module>", FILE, 95), Frame("<module>", FILE, 99)


@pytest.mark.parametrize(
    ("trained", "tested"), [((MODULE, TRAIN), (MODULE, EVALUATED)), ((SCRIPT,), (SCRIPT_TESTS,))]
)
def test_a_line_is_named_where_the_function_does_both(
    trained: tuple[Frame, ...], tested: tuple[Frame, ...]
) -> None:
    """As where an epoch of a graph network is one function: a step, and the model once more."""
    frames = tuple({*trained, *tested, FORWARD, LAYER, DIGITS})
    chains = [
        (*trained, FORWARD, LAYER),
        (*tested, FORWARD, LAYER),
        (*trained, DIGITS),
        (*tested, DIGITS),
    ]
    stacks = [tuple(map(frames.index, chain)) for chain in chains]
    trace = cast(Trace, SimpleNamespace(frames=frames, stacks=stacks))
    wanted, total = np.array([[1, 30, 0, 9], [60, 30, 8, 9]], float)
    assert outermost_own(trace, wanted, total=total) == tested[-1]
    everywhere = np.array([30, 30, 9, 9], float)
    assert outermost_own(trace, wanted, total=everywhere + wanted) is None
