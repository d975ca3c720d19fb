"""What the arguments of a compiled function of JAX tell of its batch."""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perfscope.agent.perfscope_agent.frameworks.jax_functions import Uses


def leaves(tree: Any) -> list[Any]:
    """What is in nested tuples."""
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


@pytest.fixture(autouse=True)
def trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's module of trees."""
    module = ModuleType("jax.tree_util")
    vars(module)["tree_leaves"] = leaves
    monkeypatch.setitem(sys.modules, "jax.tree_util", module)


def samples(*, apart: bool, fixed: Any = None, changes: bool = True) -> list[int]:
    """Of eight calls that are given weights again, and batches of seven as an argument or not."""
    uses, weights = Uses("step", devices_first=False), np.zeros((3, 2))
    batch = np.zeros((7, 3)), np.zeros((7, 2))
    found = []
    for _ in range(8):
        if changes:
            batch = np.zeros((7, 3)), np.zeros((7, 2))
        rest = (batch,) if fixed is None else (batch, fixed)
        found.append(uses.before((weights, *rest) if apart else ((weights, *rest),), {}))
        weights = np.zeros((3, 2))
        uses.after((weights,))
    assert uses.trains
    return found


def test_a_batch_is_found_beside_what_is_given_again() -> None:
    assert samples(apart=True)[1:] == [7] * 7


def test_a_batch_is_found_in_one_argument_for_all() -> None:
    assert samples(apart=False)[1:] == [7] * 7


def test_what_is_given_each_time_is_no_batch_there() -> None:
    frozen = np.zeros((5, 5))
    assert samples(apart=False, fixed=frozen)[1:] == [7] * 7
    assert samples(apart=False, changes=False)[2:] == [0] * 6
