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
    """A cycle that keeps what it is given."""

    def __init__(self) -> None:
        self.cuts = 0

    def add(self, unit: steps.Unit) -> None:
        """A call that trains."""

    def cut(self) -> None:
        """A call that is no part of a step."""
        self.cuts += 1


@pytest.mark.parametrize(
    ("turn", "is_apart"),
    [("dsgu", False), ("dssgu", False), ("dgugu", True), ("d" + "g" * 9 + "u", True)],
)
def test_what_is_called_once_a_step_is_part_of_it(
    monkeypatch: pytest.MonkeyPatch, *, turn: str, is_apart: bool
) -> None:
    """`s` draws samples, `g` computes gradients, `u` updates: however many of a step train."""
    monkeypatch.setattr(Uses, "has_gradients", False)
    monkeypatch.setattr(Uses, "remembered", [])
    functions = {name: Uses(name, devices_first=False) for name in "dsgu"}
    order = Order(cast("steps.Cycle", _NoSteps()))
    state = {name: np.zeros(3) for name in "su"}
    for name in turn * 8:
        uses = functions[name]
        uses.look_around(order.rounds)
        own = state.get("u" if name == "g" else name, np.zeros((7, 3)))
        uses.before((own,), {})
        if name == "g":
            uses.computes_gradients()
        state[name] = result = np.zeros(3)
        uses.after(result)
        order.add(uses, steps.Unit("jax", name, start_ns=0, end_ns=1, samples=0))
    assert functions["d"].is_apart is is_apart
    assert functions["u"].trains
