"""Small operations of a backward pass that are alike: none has another's result in its graph.

Before a few backward passes their graph is walked. Operations are alike where they do the same with
what is alike, down to the same parameters: the turns of a loop that computes something of each
sample by itself leave one such operation each. Where a turn takes what the one before it has made,
as a recurrent network does, no two of them are alike, as what they take is made in another way.
What goes around the graph is not seen: a state that is detached, an action that decides what comes
next.

Hooks of PyTorch tell how long they take in the pass. They change nothing, and are taken away again
when the pass is over.
"""

from __future__ import annotations

from .. import metadata
from ..kinds import Any
from . import torch_graphs

_SOURCE = "torch"
_FIRST = 6
"""The first pass that is looked at; the next is one more than twice as far on, and so on.

So each of up to three passes of a step has its turn, and none is a power of two: others look there.
"""

_MOST_NODES = 20000
_MOST_LOOKS = 6
_FEWEST = 8
"""Operations that are alike: a loop has turned so often."""

_MOST_BYTES = 1 << 15
"""What the nearest cache holds: of more than that, computing takes longer than calling."""


class _Graph:
    """The operations of one pass, by what they do, each kind with a number."""

    def __init__(self, losses: list[Any]) -> None:
        nodes = torch_graphs.bottom_up(losses, _MOST_NODES)
        self.is_whole = nodes is not None
        self.nodes = nodes or []
        self.kinds: dict[int, int] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self.small: set[int] = set()
        for node in self.nodes:
            self._number(node)

    def _number(self, node: Any) -> None:
        """Numbers an operation: all that it takes has its number."""
        if hasattr(node, "variable"):
            key: tuple[Any, ...] = (id(node),)
        else:
            key = (node.name(), *[self.kinds.get(id(one)) for one, _ in node.next_functions])
            self.small.update([id(node)] if _is_small(node) else [])
        self.kinds[id(node)] = self._known.setdefault(key, len(self._known))

    def alike(self) -> list[list[Any]]:
        """Small operations of each kind of which there are many."""
        found: dict[int, list[Any]] = {}
        for node in self.nodes:
            if id(node) in self.small and not _is_of_parameter(node):
                found.setdefault(self.kinds[id(node)], []).append(node)
        return [own for own in found.values() if len(own) >= _FEWEST]


def _is_small(node: Any) -> bool:
    """Whether what an operation takes and makes fits the nearest cache."""
    inputs = [_bytes(one, place) for one, place in node.next_functions if one is not None]
    made = [_bytes(node, place) for place in range(len(getattr(node, "_input_metadata", ())))]
    return bool(made) and max(inputs + made) <= _MOST_BYTES


def _bytes(node: Any, place: int) -> int:
    """Those of a result of an operation; too many where nobody knows."""
    described = getattr(node, "_input_metadata", ())
    if hasattr(node, "variable"):
        return int(node.variable.numel()) * int(node.variable.element_size())
    if place >= len(described):
        return _MOST_BYTES + 1
    values = 1
    for length in described[place].shape:
        values *= int(length)
    return values * int(getattr(described[place].dtype, "itemsize", 8))


def _is_of_parameter(node: Any) -> bool:
    """Whether it only shows a parameter in another form, such as transposed: that costs nothing."""
    below = [one for one, _ in node.next_functions if one is not None]
    is_leaf = len(below) == 1 and hasattr(below[0], "variable")
    return is_leaf and _bytes(below[0], 0) == _bytes(node, 0)


class _Looker(torch_graphs.Looker):
    """Looks at backward passes: the 6th, the 13th, the 26th, the 51st and so on."""

    def __init__(self) -> None:
        super().__init__(_FIRST, apart=1)
        self._seen: dict[str, int] = {}  # in the pass that is looked at
        self._told: dict[str, int] = {}

    def _look(self, losses: list[Any]) -> tuple[torch_graphs.Timing, list[Any]] | None:
        if not self._may_look(losses, _MOST_LOOKS):
            return None
        graph = _Graph(losses)
        alike = graph.alike() if graph.is_whole else []
        self.is_over = not graph.is_whole
        found = None
        if not self.is_over:
            self._seen = _counts(graph, alike)
            chosen = {id(node) for own in alike for node in own}
            # of a pass without them only how long it takes is asked
            found = torch_graphs.hooked(graph.nodes if alike else graph.nodes[-1:], chosen)
        return found

    def _add(self, timing: torch_graphs.Timing) -> None:
        told, seen = self._told, self._seen
        seen["alike_ns"], seen["whole_ns"] = timing.spent_ns[1], sum(timing.spent_ns)
        turns = max(told.get("turns", 0), seen["turns"])
        told.update({name: told.get(name, 0) + count for name, count in seen.items()})
        told["turns"] = turns
        if told["alike"]:
            metadata.framework(_SOURCE, alike_operations=dict(told))


def _counts(graph: _Graph, alike: list[list[Any]]) -> dict[str, int]:
    """What the graph of a pass holds."""
    sizes = [len(own) for own in alike]
    return {
        "graphs": 1,
        "operations": len(graph.nodes),
        "small": len(graph.small),
        "alike": sum(sizes),
        "kinds": len(sizes),
        # how often most kinds come is how often the loop turns
        "turns": max(sizes, key=sizes.count, default=0),
    }


looker = _Looker()
