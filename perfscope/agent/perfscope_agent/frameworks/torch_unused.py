"""Gradients that backward passes compute and nothing uses: of parameters that no optimizer holds.

Before a few backward passes their graph is walked, from the loss to the parameters at its ends.
What leads to none but such as no optimizer holds, and whose values stay as they are, is computed
for nothing. Hooks of PyTorch tell when each part of the graph begins, and so how long these parts
take. They change nothing, and are taken away again when the pass is over.
"""

from __future__ import annotations

from .. import metadata, notes, operand_arrays, recorder
from ..kinds import Any, AnyFunction
from . import (
    torch_alike,
    torch_anomaly,
    torch_compile,
    torch_gradients,
    torch_graphs,
    torch_selected,
    torch_stacked,
    torch_states,
)

_SOURCE = "torch"
_FIRST = 4
"""Passes without a look: each optimizer is known once it has stepped."""

_MOST_NODES = 5000
_MOST_LOOKS = 8
_MOST_READ = 4
"""Parameters whose values are compared, the largest."""


class _Walk:
    """The graph of one backward pass."""

    def __init__(self, roots: list[Any], held: set[int], kind: type) -> None:
        self.nodes: list[Any] = []
        self.unheld: list[Any] = []
        self.is_whole = True
        self.has_held = False
        self.is_on_cpu = True
        above: dict[int, list[int]] = {}
        used: list[int] = []
        unused: list[int] = []
        left = list(roots)
        seen = set()
        while left and self.is_whole:
            node = left.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            self.nodes.append(node)  # keeps it, and with that its identity
            self.is_whole = len(self.nodes) <= _MOST_NODES
            if hasattr(node, "_forward_cls"):
                # a function of the program's own may run a graph of its own, that nobody sees
                used.append(id(node))
                continue
            parameter = getattr(node, "variable", None)
            if parameter is not None:
                self.is_on_cpu = self.is_on_cpu and parameter.device.type == "cpu"
                is_held = not isinstance(parameter, kind) or id(parameter) in held
                self.has_held = self.has_held or id(parameter) in held
                (used if is_held else unused).append(id(node))
                self.unheld += [] if is_held else [parameter]
            for below, _ in node.next_functions:
                if below is not None:
                    above.setdefault(id(below), []).append(id(node))
                    left.append(below)
        self.needless = _reached(unused, above) - _reached(used, above)


def _reached(begin: list[int], above: dict[int, list[int]]) -> set[int]:
    """The nodes from which some others are reached, and these."""
    found: set[int] = set()
    left = list(begin)
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += above.get(one, ())
    return found


class _Looker(torch_graphs.Looker):
    """Looks at backward passes: the fourth, the eighth, the sixteenth and so on."""

    def __init__(self) -> None:
        super().__init__(_FIRST)
        self._needless_ns = self._whole_ns = 0
        self._digests: dict[int, int] = {}

    def _look(self, losses: list[Any]) -> tuple[torch_graphs.Timing, list[Any]] | None:
        if not torch_graphs.can_be_timed(losses):
            self.is_over = True
            return None
        roots, torch = [one.grad_fn for one in losses], torch_compile.module()
        walk = _Walk(roots, torch_gradients.held(), torch.nn.Parameter)
        is_known = walk.is_whole and walk.is_on_cpu and self.looks < _MOST_LOOKS
        self.is_over = not is_known or self._have_changed(walk)
        found = None
        if walk.has_held and walk.needless and not self.is_over:
            found = torch_graphs.hooked(walk.nodes, walk.needless)
            self._tell(walk)
        elif self.looks < _MOST_LOOKS:
            # what is needed now, or changes, was not computed for nothing before
            metadata.framework(_SOURCE, unused_gradients=None)
        return found

    def _add(self, timing: torch_graphs.Timing) -> None:
        self._needless_ns += timing.spent_ns[1]
        self._whole_ns += sum(timing.spent_ns)
        told = metadata.facts.get("frameworks", {}).get(_SOURCE, {}).get("unused_gradients")
        if isinstance(told, dict):
            told.update(looks=self.looks, needless_ns=self._needless_ns, whole_ns=self._whole_ns)

    def _have_changed(self, walk: _Walk) -> bool:
        """Whether a parameter has other values than before: something else updates it."""
        rec = recorder.current
        largest = sorted(walk.unheld, key=_size, reverse=True)[:_MOST_READ]
        for parameter in largest:
            array = torch_states.array_of(parameter)
            content = operand_arrays.read(rec, array) if rec and array is not None else None
            if array is not None and content is not None:
                digest = operand_arrays.digest(array, content)
                if self._digests.setdefault(id(parameter), digest) != digest:
                    return True
        return False

    def _tell(self, walk: _Walk) -> None:
        largest = max(walk.unheld, key=_size)
        told = {
            "parameters": len(walk.unheld),
            "values": sum(map(_size, walk.unheld)),
            "largest": [int(size) for size in largest.shape],
        }
        metadata.framework(_SOURCE, unused_gradients=told)


def _size(parameter: Any) -> int:
    return int(parameter.numel())


_looker = _Looker()


def _lookers() -> tuple[torch_graphs.Looker, ...]:
    return _looker, torch_alike.looker, torch_selected.looker, torch_stacked.looker


def watch(arguments: Any, keywords: Any) -> Any:
    """Looks at a backward pass that begins with these arguments; what `end` is to be given.

    None of nearly all of them, which nothing is due for: these are only counted.
    """
    lookers = _lookers()
    is_due = any(one.passes + 1 >= one.due for one in lookers)
    try:
        if not is_due and not torch_compile.module().is_anomaly_enabled():
            for one in lookers:
                one.passes += 1
            return None
    except Exception as error:  # a program may put something else there
        return _failed(error)
    return _looked_at(arguments, keywords)


def _looked_at(arguments: Any, keywords: Any) -> tuple[Any, Any]:
    """The looker at a pass and what its end is to be given, and those of anomaly mode; or None."""
    begun: Any = None
    for looker in _lookers():
        if looker.is_due() and begun is None:
            begun = _guarded(_begun, looker, arguments, keywords)
            begun = None if begun is None else (looker, *begun)
    loss = None if begun is not None else _loss(arguments, keywords)
    return begun, _guarded(torch_anomaly.begins, loss)


def end(watched: Any, ns: int) -> None:
    """The pass is over, or was ended by an error; it took so long."""
    begun, of_anomaly = watched or (None, None)
    torch_anomaly.spent_ns[0] += ns
    if of_anomaly is not None:
        _guarded(torch_anomaly.ends, *of_anomaly, ns)
    if begun is not None:
        looker, timing, handles = begun
        _guarded(looker.end, timing, handles)


def _begun(looker: Any, arguments: Any, keywords: Any) -> Any:
    loss = _loss(arguments, keywords)
    return None if loss is None else looker.begin(loss)


def _loss(arguments: Any, keywords: Any) -> Any:
    """What a pass begins at; None where the program says what it wants the gradients of."""
    is_chosen = keywords.get("inputs") is not None or len(arguments) > 5
    return None if is_chosen else arguments[0] if arguments else keywords.get("tensors")


def _guarded(action: AnyFunction, *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> None:
    for one in _lookers():
        one.is_over = True
    notes.failure("graphs of backward passes are not looked at", error)
