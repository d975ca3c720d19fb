"""Whether anything was updated between two backward passes: the parameters that gradients are of.

PyTorch counts how often a tensor was written to, but not through `parameter.data`, as many programs
do it: until counts have moved with each of several updates, what the parameters hold is compared.
"""

from __future__ import annotations

import time

from .. import notes, operand_arrays, recorder
from ..pace import Budget
from . import torch_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

    Seen = Dict[int, Tuple[int, int, int]]
    """By identity: how often it was written to, where it lies, and a digest of what it holds."""

_MOST_NODES = 64
_MOST_LEAVES = 2
_LEAF = "AccumulateGrad"
"""What nodes of a graph are called that lead to a parameter; the program's end in Backward."""

_ENOUGH = 8
"""Updates, one after the other, that counts told: they tell the others as well."""


class Leaves:
    """A few of the parameters at the ends of the graph of the pass before."""

    def __init__(self) -> None:
        self.seen: Seen = {}  # at the pass before
        self._counted = 0  # updates that showed in what PyTorch counts
        self._budget = Budget(4 * Budget.AT_ONCE_NS)
        self.next_ns = 0  # when a look may be taken again, by the monotonic clock

    def are_as_before(self, loss: Any) -> bool | None:
        """Whether the graph of a loss ends in parameters that nobody has updated since the last.

        None where that is not known, as where looking has taken too long.
        """
        begin_ns = time.thread_time_ns()
        try:
            before, self.seen = self.seen, self._look(loss)
        except Exception as error:  # a tensor of a class of the program's own
            notes.pass_on(error)
            before, self.seen = {}, {}
        self._budget.spent_ns += time.thread_time_ns() - begin_ns
        if before or not self.seen:  # the first look after a pause tells nothing without another
            self.next_ns = self._budget.left_at_ns()
        if not before or not self.seen:
            return None
        if before.keys() != self.seen.keys():
            return False
        if any(before[one][:2] != now[:2] for one, now in self.seen.items()):
            self._counted += 1
            return False
        if self._counted >= _ENOUGH:
            return True
        is_same = before == self.seen and all(one[2] for one in self.seen.values())
        if not is_same:
            self._counted = 0
        return is_same

    def _look(self, loss: Any) -> Seen:
        is_counted = self._counted >= _ENOUGH
        return {
            id(leaf): (
                leaf._version,
                torch_states.address_of(leaf),
                0 if is_counted else _digest(leaf),
            )
            for leaf in _leaves(loss)
        }


def _digest(leaf: Any) -> int:
    """Of what a parameter holds; 0 where that cannot be read, as on a device."""
    rec, array = recorder.current, torch_states.array_of(leaf)
    content = operand_arrays.read(rec, array) if rec and array is not None else None
    return operand_arrays.digest(array, content) if array and content is not None else 0


def _leaves(loss: Any) -> list[Any]:
    """The first parameters that a graph leads to."""
    found: list[Any] = []
    left: list[Any] = [getattr(loss, "grad_fn", None)]
    seen: set[int] = set()
    while left and len(found) < _MOST_LEAVES and len(seen) < _MOST_NODES:
        node = left.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if type(node).__name__ == _LEAF:  # a node of the program's own has attributes of its own
            found.append(node.variable)
        left += [below for below, _ in reversed(node.next_functions)]
    return found
