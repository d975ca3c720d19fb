"""Layers that are applied one after the other, and of which no application needs another's result.

Before a few backward passes their graph is walked. Applications of a layer share its parameters.
Where none is reached from another, all may be one, on inputs that are stacked: one large product in
place of many thin ones, and one gradient of the parameters in place of one each time.

What goes around the graph, as an action that decides the next input, comes back into it as a tensor
without a gradient. So independence is only told to be certain where all such tensors, on the ways
to later applications, are parts of what was there before the first one.

Hooks of PyTorch tell how long these applications take in the pass. When the program is over, both
forms are timed on this CPU.
"""

from __future__ import annotations

from .. import metadata
from ..kinds import Any, Iterator
from . import torch_compile, torch_graphs, torch_selected, torch_stacked_times

_SOURCE = "torch"
_FIRST = 7
"""The first pass that is looked at, then the 15th and so on: others look at other ones."""

_MOST_NODES = 5000
_MOST_LOOKS = 6
_LEAST_PART = 64  # of the passes, in one of so many parts: less is not timed
_MOST_VALUES = 1 << 20  # of a tensor whose values are asked for

_names: dict[type, list[str]] = {}


class _Layer:
    """All applications of a layer that make as much."""

    def __init__(self, weight: Any, shape: tuple[int, ...]) -> None:
        self.weight, self.shape = weight, shape
        self.nodes: list[Any] = []
        self.data: list[Any] = []  # what each takes, None where no gradient is asked of it
        self.parts: list[Any] = []  # with what only shows the parameters in another form
        self.is_chained = False  # one takes what is made of the result of another one

    @property
    def weight_of_all(self) -> int:
        """By how much to choose: numbers that all of them read or make."""
        return len(self.nodes) * int(self.weight.numel())


class _Walk:
    """The graph of one backward pass, with the layers that are applied several times."""

    def __init__(self, losses: list[Any]) -> None:
        self.nodes = torch_graphs.bottom_up(losses, _MOST_NODES) or []
        self.takers: dict[int, list[Any]] = {}
        for node in self.nodes:
            for below, _ in node.next_functions:
                if below is not None:
                    self.takers.setdefault(id(below), []).append(node)
        self.layers = self._layers()

    def _layers(self) -> list[_Layer]:
        """Those that are applied several times, none of them to what another one has made."""
        found: dict[tuple[Any, ...], _Layer] = {}
        for node in self.nodes:
            applied = _applied(node)
            if applied is not None:
                weight, data, between = applied
                shape = torch_selected.shape_of(node, 0)
                key = id(weight), torch_selected.kind_of(node), shape
                layer = found.setdefault(key, _Layer(weight, shape))
                layer.nodes.append(node)
                layer.data.append(data)
                layer.parts += [node, *between]
        several = [one for one in found.values() if len(one.nodes) > 1]
        self._note_chains(several)
        return [one for one in several if not one.is_chained]

    def _note_chains(self, layers: list[_Layer]) -> None:
        """By a bit for each layer, whether an application of it lies below a node."""
        bits = {id(node): 1 << at for at, one in enumerate(layers) for node in one.nodes}
        reached: dict[int, int] = {}
        chained = 0
        for node in self.nodes if layers else ():
            found = 0
            for below, _ in node.next_functions:
                found |= reached.get(id(below), 0)
            own = bits.get(id(node), 0)
            chained |= found & own
            reached[id(node)] = found | own
        for at, one in enumerate(layers):
            one.is_chained = bool(chained >> at & 1)

    def chosen(self) -> tuple[_Layer, bool] | None:
        """The one that reads and makes most, a certain one first; and whether it is certain."""
        ranked = sorted(self.layers, key=lambda one: -one.weight_of_all)
        certain = next((one for one in ranked if _is_certain(one)), None)
        if certain is not None:
            return certain, True
        return (ranked[0], False) if ranked else None

    def is_gathered(self, layer: _Layer) -> bool:
        """Whether all results go into one array: then the other form need not take them apart."""
        ends = {self._end(node) for node in layer.nodes}
        return len(ends) == 1 and None not in ends

    def _end(self, node: Any) -> int | None:
        takers = self.takers.get(id(node), [])
        while len(takers) == 1 and torch_selected.kind_of(takers[0]) in ("View", "Unsqueeze"):
            takers = self.takers.get(id(takers[0]), [])
        kinds = [torch_selected.kind_of(one) for one in takers]
        return id(takers[0]) if kinds in (["Stack"], ["Cat"]) else None


def _applied(node: Any) -> tuple[Any, Any, list[Any]] | None:
    """The parameters of a layer, what it takes, and what leads to the parameters."""
    name = torch_selected.kind_of(node)
    if name in torch_selected.LAYERS:
        found = torch_selected.weight_and_data(node)
        if found is None:
            return None
        at = torch_selected.LAYERS[name][1]
        above = node.next_functions[at][0]
        return found[0], found[1][0], [] if hasattr(above, "variable") else [above]
    if name not in ("Embedding", "Convolution") or getattr(node, "_saved_transposed", False):
        return None
    at = 1 if name == "Convolution" else 0
    weight = getattr(node.next_functions[at][0], "variable", None)
    data = node.next_functions[0][0] if at else None
    # of a convolution of what has no gradient it is not known how large that is
    is_known = weight is not None and (not at or data is not None)
    return (weight, data, []) if is_known and not getattr(node, "_saved_sparse", False) else None


def _is_certain(layer: _Layer) -> bool:
    """Whether nothing that came from outside the graph between two applications leads to one."""
    number = [getattr(one, "_sequence_nr", None) for one in layer.nodes]
    if any(one is None for one in number):
        return False
    first = min(one() for one in number if one is not None)
    known: set[Any] = set()
    later: list[Any] = []
    for node in _below(layer.nodes):
        if hasattr(node, "variable"):
            if type(node.variable) is not torch_compile.module().nn.Parameter:
                return False  # a leaf that may have been made of an earlier result
            continue
        if node._sequence_nr() > first:
            later.append(node)
        else:
            known.update([_identity(one) for one in _given(node) or ()])
    return all(_is_known(node, known) for node in later)


def _below(nodes: list[Any]) -> Iterator[Any]:
    left, seen = list(nodes), set()
    while left:
        node = left.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            left += [one for one, _ in node.next_functions if one is not None]


def _is_known(node: Any, known: set[Any]) -> bool:
    """Whether all tensors that an operation takes from outside the graph were there before."""
    given = _given(node)
    missing = sum(one is None for one, _ in node.next_functions)
    if given is None or len(given) < missing:
        return False
    return all(_identity(one) in known or _is_of_dropout(one) for one in given)


def _given(node: Any) -> list[Any] | None:
    """The tensors that an operation keeps and that have no gradient; None where nobody can tell.

    Its own results are none of them. What others keep elsewhere meanwhile is not asked for.
    """
    if hasattr(node, "_forward_cls"):
        return None
    found: list[Any] = []
    for name in _names_of(type(node)):
        kept = getattr(node, name)
        for one in kept if isinstance(kept, (list, tuple)) else (kept,):
            if getattr(one, "unpack_hook", one) is not None:
                return None
        values = getattr(node, name[len("_raw") :])
        several = values if isinstance(values, (list, tuple)) else (values,)
        plain = [one for one in several if one is not None]
        if not all(type(one) in _plain() for one in plain):
            return None  # what operations on other classes do is theirs: they may communicate
        found += [one for one in plain if not one.requires_grad]
    return found


def _plain() -> tuple[type, ...]:
    torch = torch_compile.module()
    return torch.Tensor, torch.nn.Parameter


def _names_of(kind: type) -> list[str]:
    """What operations of a kind keep, but for their own results."""
    if kind not in _names:
        found = [one for one in dir(kind) if one.startswith("_raw_saved_")]
        _names[kind] = [one for one in found if not one.startswith("_raw_saved_result")]
    return _names[kind]


def _identity(tensor: Any) -> Any:
    """What is the same of all parts of a tensor until somebody writes to it; a number by itself."""
    if tensor.dim() == 0:
        return float(tensor)
    return tensor.untyped_storage().data_ptr(), tensor._version


def _is_of_dropout(tensor: Any) -> bool:
    """Whether it holds nothing but zeros and one number above one, as chance makes it."""
    is_asked = tensor.dim() and 0 < tensor.numel() <= _MOST_VALUES
    if not is_asked or not tensor.dtype.is_floating_point:
        return False
    most = float(tensor.max())
    is_zero = tensor == 0
    return most > 1.0 and bool(is_zero.any()) and bool((is_zero | (tensor == most)).all())


class _Looker(torch_graphs.Looker):
    """Looks at backward passes: the 7th, the 15th, the 30th and so on."""

    def __init__(self) -> None:
        super().__init__(_FIRST, apart=1)
        self._told: dict[str, Any] = {}
        self._seen: dict[str, Any] = {}

    def _look(self, losses: list[Any]) -> tuple[torch_graphs.Timing, list[Any]] | None:
        if not self._may_look(losses, _MOST_LOOKS):
            return None
        walk = _Walk(losses)
        chosen = walk.chosen()
        self.is_over = chosen is None
        if chosen is None:
            # where one pass needs them one by one, others may, too
            self._told = {}
            metadata.framework(_SOURCE, stacked=None)
            return None
        layer, is_certain = chosen
        self._seen = _described(layer)
        self._seen["certain"] = is_certain
        self._seen["gathered"] = walk.is_gathered(layer)
        return torch_graphs.hooked(walk.nodes, set(map(id, layer.parts)))

    def _add(self, timing: torch_graphs.Timing) -> None:
        told, seen = self._told, self._seen
        if told and told["layer"] != seen["layer"]:
            told = {}
        self._told = {
            **seen,
            "certain": seen["certain"] and told.get("certain", True),
            "looks": told.get("looks", 0) + 1,
            "parts_ns": told.get("parts_ns", 0) + timing.spent_ns[1],
            "whole_ns": told.get("whole_ns", 0) + sum(timing.spent_ns),
        }
        metadata.framework(_SOURCE, stacked=dict(self._told))

    def measure(self) -> bool:
        """When all is over: times both forms, where they matter; whether there was any to time."""
        told = self._told
        is_much = bool(told) and told["parts_ns"] * _LEAST_PART > told["whole_ns"]
        times = torch_stacked_times.measured(told) if is_much else {}
        if times:
            metadata.framework(_SOURCE, stacked={**told, **times})
        return bool(times)


def _described(layer: _Layer) -> dict[str, Any]:
    """What is needed to apply such a layer again."""
    node, data = layer.nodes[0], layer.data[0]
    name = torch_selected.kind_of(node)
    kind = "Linear" if name in torch_selected.LAYERS else name
    size = [int(one) for one in layer.weight.shape]
    made = list(layer.shape)
    if kind == "Linear":
        size = size if size[0] == made[-1] else size[::-1]
        taken = [*made[:-1], size[1]]
    elif kind == "Embedding":
        taken = made[:-1]
    else:
        place = next(at for one, at in node.next_functions if one is data)
        taken = list(torch_selected.shape_of(data, place))
    names = ("stride", "padding", "dilation", "groups")
    settings = {one: getattr(node, "_saved_" + one, None) for one in names}
    return {
        "kind": kind,
        "times": len(layer.nodes),
        "layer": size,
        "taken": taken,
        "dtype": str(layer.weight.dtype).rpartition(".")[2],
        "has_gradient": data is not None,
        "settings": {one: kept for one, kept in settings.items() if kept is not None},
    }


looker = _Looker()
"""Layers that are applied one after the other, to what they might be applied to at once."""
