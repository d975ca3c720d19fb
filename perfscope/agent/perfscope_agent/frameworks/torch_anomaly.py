"""What anomaly mode adds to a backward pass: each gradient in it is searched for NaN.

No sample shows that: the search runs in compiled code, as the gradients do. So the graphs of a few
passes tell how large the gradients are, and when the program is over, a search of each size is
timed on this CPU. With what these passes took of the CPU that is a share of the passes, and with
what all passes took, and those in the mode, a share of all of them. Of passes without the mode the
clock is known, and of a few of them what part of it they were on the CPU: they may wait.
"""

from __future__ import annotations

import sys
import time

from .. import metadata
from ..kinds import Any

_SOURCE = "torch"
_FIRST = 2
"""Passes without a look, which load what later ones have."""

_MOST_LOOKS = 4
_MOST_NODES = 5000
_MOST_SIZES = 64
_TIMES = 7
_MOST_VALUES = 1 << 20
"""Of an array that is searched: a larger one takes as long for each value, or longer."""

_MOST_NS = 300000000
"""All searches together."""

_PRECISIONS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_OFF, _ON, _LOOKED_AT = range(3)

_sizes: dict[tuple[str, int], int] = {}
"""How many gradients have a type and a number of values, in all passes that were looked at."""
spent_ns = [0, 0, 0]
"""By the clock, by all passes, by some of those without this mode, and by those in it."""
_used_ns = [0, 0, 0]
"""Of the CPU, by the same without this mode, by those in it, and by those that were looked at."""
_passes = [0, 0]
"""In this mode, and those of them that were looked at."""
_missed = [0]
"""Gradients in passes that were looked at whose size is not among those kept."""


def begins(loss: Any) -> tuple[int, int]:
    """Looks at a pass that begins, and at its graph if that is known: what kind it is, and when."""
    torch: Any = sys.modules.get("torch")
    kind = _OFF
    if torch.is_anomaly_enabled():
        # before it could be chosen, each pass of the mode was searched
        searches = getattr(torch, "is_anomaly_check_nan_enabled", None)
        kind = _ON if searches is None or searches() else _OFF
    if kind == _ON:
        _passes[0] += 1
        if loss is not None and _passes[0] > _FIRST and _passes[1] < _MOST_LOOKS and _looks(loss):
            kind = _LOOKED_AT
    return kind, time.thread_time_ns()


def _looks(loss: Any) -> bool:
    """Notes the gradients of a pass; whether they are known."""
    # a generator of several would be used up
    losses = loss if type(loss) in (list, tuple) else [loss]
    if any(getattr(one, "grad_fn", None) is None for one in losses):
        return False
    is_on_cpu = all(one.device.type == "cpu" for one in losses)
    found = _gradients([one.grad_fn for one in losses]) if is_on_cpu else None
    for one in found or ():
        if one in _sizes or len(_sizes) < _MOST_SIZES:
            _sizes[one] = _sizes.get(one, 0) + 1
        else:
            _missed[0] += 1
    return found is not None


def ends(kind: int, begin_ns: int, ns: int) -> None:
    """A pass of a kind is over, which had used so much of the CPU before and took so long."""
    used_ns, is_on = time.thread_time_ns() - begin_ns, kind != _OFF
    spent_ns[1 + is_on] += ns
    _used_ns[is_on] += used_ns
    if kind == _LOOKED_AT:
        _passes[1] += 1
        _used_ns[2] += used_ns
        if _passes[1] == _MOST_LOOKS:  # also of a mode that the first pass was without
            metadata.framework(_SOURCE, anomaly_mode=True)


def _gradients(roots: list[Any]) -> list[tuple[str, int]] | None:
    """Type and number of values of each gradient that a pass hands on; None if nobody can tell."""
    found: list[tuple[str, int]] = []
    left, seen, known = list(roots), [], set()
    while left:
        node = left.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        seen.append(node)  # keeps it, and with that its identity
        if len(seen) > _MOST_NODES or not hasattr(node, "next_functions"):
            return None
        for below, place in node.next_functions:
            if below is None:
                continue
            left.append(below)
            described = getattr(below, "_input_metadata", ())
            if place < len(described):
                one, values = described[place], 1
                for length in one.shape:
                    values *= int(length)
                found.append((str(one.dtype).rpartition(".")[2], values))
    return found


def measure() -> bool:
    """When all is over: times a search of each size, and notes what part of the passes they are.

    What takes most comes first. What is left when the time is spent, or cannot be searched, is
    told to be missing.
    """
    torch: Any = sys.modules.get("torch")
    if not _passes[1] or not _used_ns[2]:
        return False
    begin_ns = time.monotonic_ns()
    searched_ns, missed = 0, _missed[0]
    for (kind, values), count in sorted(_sizes.items(), key=lambda one: -one[0][1] * one[1]):
        if kind not in _PRECISIONS or time.monotonic_ns() - begin_ns > _MOST_NS:
            missed += count
        elif values:
            searched_ns += count * _search_ns(torch, kind, values)
    told = {
        "looks": _passes[1],
        "searched_ns": searched_ns,
        "whole_ns": _used_ns[2],
        "in_mode_ns": _used_ns[1],
        "passes_ns": _used_ns[1] + _without_ns(),
        "missed": missed,
    }
    metadata.framework(_SOURCE, searched_for_nan=told)
    return True


def _without_ns() -> int:
    """What passes without the mode took of the CPU, as far as some of them tell."""
    whole_ns, some_ns, in_mode_ns = spent_ns
    used = _used_ns[0] / some_ns if some_ns else _used_ns[1] / max(1, in_mode_ns)
    return int(max(0, whole_ns - in_mode_ns) * used)


def _search_ns(torch: Any, kind: str, values: int) -> int:
    """What it usually takes to search so many values, as PyTorch does it."""
    searched = min(values, _MOST_VALUES)
    array = torch.zeros(searched, dtype=getattr(torch, kind), device="cpu")
    took_ns = []
    for _ in range(_TIMES):
        begin_ns = time.thread_time_ns()
        torch.isnan(array).any().item()
        took_ns.append(time.thread_time_ns() - begin_ns)
    return sorted(took_ns)[_TIMES // 2] * values // searched


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _sizes.clear()
    _passes[:] = 0, 0
    spent_ns[:] = _used_ns[:] = 0, 0, 0
    _missed[0] = 0
