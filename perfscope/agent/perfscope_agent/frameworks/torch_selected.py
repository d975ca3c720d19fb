"""Rows that a layer computes and nothing reads: all but a few are dropped by a selection behind it.

Before a few backward passes their graph is walked. Where all that takes the result of a layer only
selects from it, as `scores[:, -1]` does, and it selects fewer rows than there are, the others were
computed for nothing, and so are their gradients, which are zero. What layers before that one made
row by row alone belongs to it. Hooks of PyTorch tell how long these parts take in the pass. They
change nothing, and are taken away again when the pass is over.
"""

from __future__ import annotations

from .. import metadata
from ..kinds import Any
from . import torch_graphs

_SOURCE = "torch"
_FIRST = 5
"""The first pass that is looked at, then the tenth and so on: others look at other ones."""

_MOST_NODES = 5000
_MOST_LOOKS = 6
_MOST_PARTS = 40  # between a selection and the first layer of a chain

_SELECTS = ("Select", "Slice", "Index", "IndexSelect", "Narrow", "Unbind", "Split")
"""Operations that pass on some of what they are given as it is."""

_ROW_BY_ROW = (
    *("View", "UnsafeView", "ReshapeAlias", "Unsqueeze", "Squeeze", "Alias", "Clone", "Contiguous"),
    *("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "LeakyRelu", "NativeDropout", "Add", "Mul"),
)
"""Operations that make each row of one row, where all else that they take is parameters."""

LAYERS = {"Addmm": (1, 2), "Mm": (0, 1), "Linear": (0, 1)}
"""Products, and which of what they take are rows and the matrix that makes each row of one row."""


class _Walk:
    """The graph of one backward pass, with what takes the results of each operation."""

    def __init__(self, losses: list[Any]) -> None:
        self.nodes: list[Any] = []  # keeps them, and with that their identities
        self.takers: dict[tuple[int, int], list[Any]] = {}
        self.is_whole = True
        self._ends = {(id(one.grad_fn), one.output_nr) for one in losses}
        seen: set[int] = set()
        left = [one.grad_fn for one in losses]
        while left and self.is_whole:
            node = left.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            self.nodes.append(node)
            self.is_whole = len(self.nodes) <= _MOST_NODES
            for below, place in node.next_functions:
                if below is not None:
                    self.takers.setdefault((id(below), place), []).append(node)
                    left.append(below)

    def widest(self) -> _Chain | None:
        """Of layers of which some rows are used, the one that computes most for nothing."""
        made = {(id(below), at): below for node in self.nodes for below, at in node.next_functions}
        found = [
            self._chain(made[key], key[1], takers)
            for key, takers in self.takers.items()
            if key not in self._ends and all(kind_of(one) in _SELECTS for one in takers)
        ]
        known = [one for one in found if one is not None]
        return max(known, key=lambda one: one.spared, default=None)

    def _chain(self, node: Any, place: int, takers: list[Any]) -> _Chain | None:
        """The layers that end at a result from which `takers` select; None without one."""
        shape = shape_of(node, place)
        length = shape[-1] if shape else 0
        kept = [one for taker in takers for one in self._used(taker)]
        is_of_rows = all(_takes_rows(one, len(shape)) for one in takers)
        if not length or not is_of_rows or any(not one or one[-1] != length for one in kept):
            return None  # a part of each row, which a smaller layer would make
        rows, used = _rows(shape), sum(map(_rows, kept))
        parts, weight = list(takers), None
        while len(parts) < _MOST_PARTS:
            found = weight_and_data(node) if kind_of(node) in LAYERS else None
            if found is not None:
                weight, below = (found[0] if weight is None else weight), found[1]
            else:
                below = _only_data(node) if kind_of(node) in _ROW_BY_ROW else (None, 0)
            if found is None and below[0] is None:
                break
            parts.append(node)
            node, place = below
            key = id(node), place
            is_alone = key not in self._ends and len(self.takers.get(key, ())) == 1
            if node is None or not is_alone or _rows(shape_of(node, place)) != rows:
                break
        is_one = weight is not None and used < rows
        return _Chain(parts, weight, rows, used, len(shape)) if is_one else None

    def _used(self, node: Any) -> list[tuple[int, ...]]:
        """Shapes of all the results of an operation that others take: a split has several."""
        outputs = range(len(getattr(node, "_input_metadata", ())))
        keys = [(id(node), at) for at in outputs]
        return [shape_of(node, key[1]) for key in keys if key in self.takers or key in self._ends]


class _Chain:
    """Layers whose rows are made one by one, and of which a selection takes some."""

    def __init__(self, parts: list[Any], weight: Any, rows: int, used: int, axes: int) -> None:
        self.parts, self.weight = parts, weight
        self.rows, self.used, self.axes = rows, used, axes

    @property
    def spared(self) -> int:
        """Products of numbers in a pass forwards that nothing needs."""
        return (self.rows - self.used) * int(self.weight.numel())


def kind_of(node: Any) -> str:
    """What an operation is called, without what PyTorch adds."""
    return str(node.name()).rstrip("0123456789").replace("Backward", "")


def shape_of(node: Any, place: int) -> tuple[int, ...]:
    """That of a result of an operation; () where nobody knows."""
    described = getattr(node, "_input_metadata", ())
    return tuple(map(int, described[place].shape)) if place < len(described) else ()


def _rows(shape: tuple[int, ...]) -> int:
    found = 1
    for length in shape[:-1]:
        found *= length
    return found if shape else 0


def _takes_rows(node: Any, axes: int) -> bool:
    """Whether a selection leaves the last of the axes as it is; False where nobody knows."""
    kind = kind_of(node)
    if kind in ("Select", "Unbind"):
        axis = getattr(node, "_saved_dim", axes - 1)
        return (axis - (1 << 64 if axis >> 63 == 1 else 0)) % axes != axes - 1
    if kind != "Index":
        return True  # what keeps all axes keeps the length of the last one
    taken = 0
    indices: Any = getattr(node, "_saved_indices", (None,) * axes)
    for one in indices:
        # a mask, of one byte each, stands for all of its axes
        taken += one.dim() if one is not None and one.element_size() == 1 else 1
    return taken < axes


def weight_and_data(node: Any) -> tuple[Any, tuple[Any, int]] | None:
    """The matrix of parameters of a layer, and what makes its rows; None of another product.

    Parameters on the other side mix rows: each row of the result is made of all.
    """
    data_at, weight_at = LAYERS[kind_of(node)]
    below = node.next_functions[weight_at][0] if weight_at < len(node.next_functions) else None
    leaf = below
    if below is not None and not hasattr(below, "variable") and len(below.next_functions) == 1:
        leaf = below.next_functions[0][0]
    variable = getattr(leaf, "variable", None)
    if variable is None or len(variable.shape) != 2:
        return None
    return variable, node.next_functions[data_at]


def _only_data(node: Any) -> tuple[Any, int]:
    """What an operation takes beside parameters, with which of its results; None for no one."""
    found = [one for one in node.next_functions if one[0] is not None]
    data = [one for one in found if not hasattr(one[0], "variable")]
    return data[0] if len(data) == 1 else (None, 0)


class _Looker(torch_graphs.Looker):
    """Looks at backward passes: the fifth, the tenth, the twentieth and so on."""

    def __init__(self) -> None:
        super().__init__(_FIRST)
        self._told: dict[str, Any] = {}
        self._seen: dict[str, Any] = {}

    def _look(self, losses: list[Any]) -> tuple[torch_graphs.Timing, list[Any]] | None:
        if not self._may_look(losses, _MOST_LOOKS):
            return None
        walk = _Walk(losses)
        chain = walk.widest() if walk.is_whole else None
        self.is_over = chain is None
        if chain is None:
            # where one pass needs all rows, others may, too
            metadata.framework(_SOURCE, selected_rows=None)
            return None
        layer = [int(size) for size in chain.weight.shape]
        self._seen = {"rows": chain.rows, "used": chain.used, "layer": layer, "axes": chain.axes}
        return torch_graphs.hooked(walk.nodes, set(map(id, chain.parts)))

    def _add(self, timing: torch_graphs.Timing) -> None:
        told, seen = self._told, self._seen
        if told and told["layer"] != seen["layer"]:
            told = {}
        self._told = {
            "looks": told.get("looks", 0) + 1,
            "rows": told.get("rows", 0) + seen["rows"],
            "used": told.get("used", 0) + seen["used"],
            "layer": seen["layer"],
            "axes": seen["axes"],
            "chain_ns": told.get("chain_ns", 0) + timing.spent_ns[1],
            "whole_ns": told.get("whole_ns", 0) + sum(timing.spent_ns),
        }
        metadata.framework(_SOURCE, selected_rows=dict(self._told))


looker = _Looker()
