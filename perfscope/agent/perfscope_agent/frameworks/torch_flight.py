"""PyTorch's flight recorder: collectives called out of Python's sight, or on a device.

PyTorch keeps the last collectives of its process groups: number, sizes, when each was handed to the
backend. They are read now and then and at the end, and those that no hook has seen are written. It
does not tell when a rank waits for them.
"""

from __future__ import annotations

import bisect
import gc
import pickle
import sys
import time

from .. import metadata, recorder
from . import torch_groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .torch_groups import Group

_SPARSEST_S, _DENSEST_S = 20.0, 1.0
_SHARE = 0.004  # of a core, that reading may take
_INACCURACY_NS = 20000  # of a wall clock that is set while the program runs
_OPERATIONS = {
    "_all_gather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "all_gather_into_tensor_coalesced": "all_gather_coalesced",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor",
    "all_reduce_barrier": "barrier",
    "sparse_all_reduce": "all_reduce",
}
"""Operations that the flight recorder calls otherwise than torch.distributed."""
_BYTES = {"Double": 8, "Long": 8, "Half": 2, "BFloat16": 2, "Short": 2, "ComplexFloat": 8}
_BYTES.update({"Float": 4, "Int": 4, "Char": 1, "Byte": 1, "Bool": 1, "ComplexDouble": 16})


class _Reading:
    """How far the entries have been read; the process's only one."""

    def __init__(self) -> None:
        import _thread

        self.lock = _thread.allocate_lock()
        self.dump: Callable[..., bytes] | None = None
        self.world: Any = None
        self.next_id = 0
        self.due_s = float("inf")
        self.last_s = 0.0
        self.told = {"read": 0, "lost": 0, "messages": 0, "unknown": 0}


_reading = _Reading()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _reading
    _reading = _Reading()
    torch_groups.OUTERMOST.calls = None


def begin(c10d: Any) -> None:
    """Begins to read, where this PyTorch has a flight recorder for all backends."""
    functions = getattr(getattr(sys.modules["torch"], "_C", None), "_distributed_c10d", None)
    dump = getattr(functions, "_dump_fr_trace", None)
    if dump is None or _reading.dump is not None:
        return
    from .. import stacks

    _reading.dump = dump
    _reading.world = c10d
    _reading.last_s = time.monotonic()
    _reading.due_s = _reading.last_s + _DENSEST_S
    torch_groups.OUTERMOST.calls = []
    stacks.with_each_sample.append(look)


def look() -> None:
    """Reads the entries when it is time; called by the thread that samples stacks."""
    if time.monotonic() >= _reading.due_s and _reading.lock.acquire(False):
        try:
            torch_groups.guarded(_read)
        finally:
            _reading.lock.release()


def read_all() -> None:
    """Reads what is left, while the groups are still there."""
    if _reading.dump is None or not _reading.lock.acquire(True, 2.0):
        return
    try:
        torch_groups.guarded(_read)
    finally:
        _reading.lock.release()


def finish() -> None:
    """At exit: what is left, and how much there was."""
    if _reading.dump is None:
        return
    read_all()
    metadata.framework(torch_groups.NAME, flight_recorder=dict(_reading.told))


def _read() -> None:
    rec = recorder.current
    if rec is None or _reading.dump is None:
        return
    began_s = time.thread_time()
    _reading.due_s = time.monotonic() + _SPARSEST_S  # also where it fails
    # No collection in this thread: finalizers belong in the program's own ones. These may turn the
    # collector off and on meanwhile, which stays theirs.
    threshold = gc.get_threshold()[0]
    gc.set_threshold(0)
    try:
        entries = pickle.loads(_reading.dump(True, False, False)).get("entries", ())
        new = [one for one in entries if one["record_id"] >= _reading.next_id]
        _write(rec, new)
    finally:
        if not gc.get_threshold()[0]:
            gc.set_threshold(threshold)
    now_s = time.monotonic()
    passed_s, _reading.last_s = now_s - _reading.last_s, now_s
    # so that half of what is kept is new
    wanted_s = passed_s * len(entries) / (2 * len(new)) if new else _SPARSEST_S
    cheap_s = (time.thread_time() - began_s) / _SHARE
    _reading.due_s = now_s + max(min(wanted_s, _SPARSEST_S), cheap_s, _DENSEST_S)


def _write(rec: recorder.Recorder, new: list[dict[str, Any]]) -> None:
    """Writes the entries that no hook has seen."""
    if not new:
        return
    told = _reading.told
    told["lost"] += min(one["record_id"] for one in new) - _reading.next_id
    told["read"] += len(new)
    _reading.next_id = max(one["record_id"] for one in new) + 1
    groups = _groups_by_name()
    ahead_ns = time.time_ns() - time.monotonic_ns()
    seen = torch_groups.OUTERMOST.take()
    for entry in new:
        backend, _, name = str(entry["profiling_name"]).partition(":")
        operation = _OPERATIONS.get(name, name)
        group = groups.get(str(entry["process_group"][0]))
        at_ns = int(entry["time_created_ns"]) - ahead_ns
        if entry.get("is_p2p"):
            told["messages"] += not _is_within(at_ns, seen)
        elif group is None or not torch_groups.is_known(operation):
            told["unknown"] += 1
        elif backend not in torch_groups.BLOCKING_BACKENDS or not _is_within(at_ns, seen):
            group.emit_unseen(rec, operation, int(entry["collective_seq_id"]), at_ns, _moved(entry))


def _groups_by_name() -> dict[str, Group]:
    """The process groups that there are, by the names that the flight recorder has for them."""
    c10d = _reading.world
    found = {}
    for handle, name in list(c10d._world.pg_names.items()):
        group = torch_groups.group_of(c10d, handle)
        if group is not None:
            found[str(name)] = group
    return found


def _is_within(at_ns: int, calls: list[list[int]]) -> bool:
    """Whether a moment lies within one of the calls, which are in order."""
    place = bisect.bisect_right(calls, [at_ns + _INACCURACY_NS]) - 1
    return place >= 0 and at_ns <= calls[place][1] + _INACCURACY_NS


def _moved(entry: dict[str, Any]) -> tuple[int, int] | None:
    """Bytes that went in and that come out; None where a type is not known."""
    sent = _bytes_of(entry.get("input_sizes"), entry.get("input_dtypes"))
    received = _bytes_of(entry.get("output_sizes"), entry.get("output_dtypes"))
    return None if sent is None or received is None else (sent, received)


def _bytes_of(sizes: Any, types: Any) -> int | None:
    total = 0
    for dimensions, kind in zip(sizes or (), types or ()):
        width = 1 if kind.startswith("Float8") else _BYTES.get(kind)
        if width is None:
            return None
        for extent in dimensions:
            width *= extent
        total += width
    return total
