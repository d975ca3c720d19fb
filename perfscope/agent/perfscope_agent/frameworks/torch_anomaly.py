"""What anomaly mode adds to a backward pass: each gradient in it is searched for NaN.

No sample shows that: the search runs in compiled code, as the gradients do. So the graphs of a few
passes tell how large the gradients are, and at the end, when the program is over, a search of each
size is timed on this CPU. With what these passes took of the CPU that is a share of the passes.
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
_PRECISIONS = ("float16", "bfloat16", "float32", "float64")

_sizes: dict[tuple[str, int], int] = {}
"""How many gradients have a type and a number of values, in all passes that were looked at."""
_spent_ns = [0, 0]
"""Of the CPU, by these passes, and by the thread before the one that runs."""
_passes = [0, 0]
"""In this mode, and those of them that were looked at."""


def begins(loss: Any) -> bool:
    """Looks at the graph of a pass that begins; whether it is one of those that count."""
    torch: Any = sys.modules.get("torch")
    if _passes[1] >= _MOST_LOOKS or not torch.is_anomaly_enabled():
        return False
    _passes[0] += 1
    searches = getattr(torch, "is_anomaly_check_nan_enabled", None)
    # a generator of several would be used up
    losses = loss if type(loss) in (list, tuple) else [loss]
    is_known = searches is not None and searches() and _passes[0] > _FIRST
    if not is_known or any(getattr(one, "grad_fn", None) is None for one in losses):
        return False
    is_on_cpu = all(one.device.type == "cpu" for one in losses)
    found = _gradients([one.grad_fn for one in losses]) if is_on_cpu else None
    if found is None:
        return False
    for one in found:
        if one in _sizes or len(_sizes) < _MOST_SIZES:
            _sizes[one] = _sizes.get(one, 0) + 1
    _spent_ns[1] = time.thread_time_ns()
    return True


def ends() -> None:
    """The pass is over."""
    _passes[1] += 1
    _spent_ns[0] += time.thread_time_ns() - _spent_ns[1]
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


def finish() -> None:
    """At exit: times a search of each size, and notes what part of the passes they are."""
    torch: Any = sys.modules.get("torch")
    if not _passes[1] or not _spent_ns[0]:
        return
    searched_ns = sum([count * _search_ns(torch, *one) for one, count in _sizes.items()])
    told = {"looks": _passes[1], "searched_ns": searched_ns, "whole_ns": _spent_ns[0]}
    metadata.framework(_SOURCE, searched_for_nan=told)


def _search_ns(torch: Any, kind: str, values: int) -> int:
    """What it usually takes to search so many values, as PyTorch does it."""
    if kind not in _PRECISIONS or not values:
        return 0
    array = torch.zeros(values, dtype=getattr(torch, kind))
    spent_ns = []
    for _ in range(_TIMES):
        begin_ns = time.thread_time_ns()
        torch.isnan(array).any().item()
        spent_ns.append(time.thread_time_ns() - begin_ns)
    return sorted(spent_ns)[_TIMES // 2]


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _sizes.clear()
    _passes[:] = _spent_ns[:] = 0, 0
