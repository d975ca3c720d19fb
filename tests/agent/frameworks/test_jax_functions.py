"""What the arguments of a compiled function of JAX tell of its batch."""

import sys
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import steps
from perfscope.agent.perfscope_agent.frameworks.jax_functions import Order, Uses


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


def test_what_stays_the_same_beside_a_batch_is_none() -> None:
    """As the edges of a graph that each call is given behind the samples."""
    uses, edges, weights = Uses("forces", devices_first=False), np.zeros((5, 2)), np.zeros((3, 2))
    for _ in range(3):
        found = uses.before((weights, np.zeros((7, 3)), edges), {})
        weights = np.zeros((3, 2))
        uses.after((weights,))
    assert found == 7


class _NoSteps:
    """A cycle that counts what it is given."""

    def __init__(self) -> None:
        self.cuts = 0

    def add(self, unit: steps.Unit) -> None:
        """A call that trains."""

    def cut(self) -> None:
        """A call that is no part of a step."""
        self.cuts += 1


EIGHT = "g" * 8
OWN_STATE = "su"
MADE_FROM = {"g": "du", "c": "g", "a": "c"}
"""Whose results a function is given beside its own state: `u` is given those of `a` or `g`."""


@pytest.mark.parametrize(
    ("turn", "evaluates"),
    [
        ("dsgu", ""),
        ("dssgu", ""),
        ("dgugu", ""),
        (f"d{EIGHT}u", ""),
        (f"d{EIGHT}cau", ""),
        (f"d{EIGHT}ue", "e"),
        ("gugugue", "e"),
    ],
)
def test_what_gets_to_the_gradients_is_no_evaluation(
    monkeypatch: pytest.MonkeyPatch, *, turn: str, evaluates: str
) -> None:
    """`d` and `s` draw, `g` computes gradients, `c` clips, `a` averages, `u` updates, `e` looks."""
    monkeypatch.setattr(Uses, "has_gradients", False)
    monkeypatch.setattr(Uses, "remembered", [])
    functions = {name: Uses(name, devices_first=False) for name in set(turn)}
    cycle, turns = _NoSteps(), 8
    order = Order(cast("steps.Cycle", cycle))
    returned = {name: np.zeros(3) for name in "dsgcau"}
    for name in turn * turns:
        uses = functions[name]
        uses.look_around(order.rounds)
        sources = MADE_FROM.get(name, ("a" if "a" in turn else "g") if name == "u" else "")
        own = name if name in OWN_STATE else ""
        uses.before((*(returned[one] for one in sources + own), np.zeros((7, 3))), {})
        if name == "g":
            uses.computes_gradients()
        returned[name] = result = np.zeros(3)
        uses.after(result)
        order.add(uses, steps.Unit("jax", name, start_ns=0, end_ns=1, samples=0))
    assert "".join(name for name, uses in functions.items() if uses.evaluates) == evaluates
    assert functions["u"].trains
    assert cycle.cuts >= (turns - 1) * len(evaluates)
    assert cycle.cuts <= turns * len(evaluates)


def test_functions_that_are_made_anew_are_not_all_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Uses, "remembered", [])
    kept = [np.zeros(3) for _ in range(100)]
    for result in kept:
        uses = Uses("made in the loop", devices_first=False)
        uses.before((np.zeros((7, 3)),), {})
        uses.after(result)
    assert len(Uses.remembered) < len(kept) // 2
