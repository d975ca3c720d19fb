"""Whether workers of training DataLoaders have batches in time, and what starting them takes."""

from __future__ import annotations

from .. import metadata
from ..kinds import Any

_batches = {
    "asked": 0,
    "ready": 0,
    "ready_ns": 0,
    "late_ns": 0,
    "turns": 0,
    "first_ns": 0,
    "starts_ns": 0,
    "ends_ns": 0,
}
"""Batches that workers made and the time it took to get them. Of workers that end with each
iteration also how often they began, what their starts, first batches and ends took."""


def is_ready(iterator: Any) -> bool | None:
    """Whether the workers of a loader surely have the next batch ready; None without workers."""
    try:
        queue = getattr(iterator, "_data_queue", None)
        if queue is None:
            return None
        if len(iterator._task_info.get(iterator._rcvd_idx, ())) == 2:
            return True  # it came before its turn and was laid aside
        # of several workers another one's batch may lie in the queue, unless all of them do
        known = 1 if iterator._num_workers == 1 else iterator._tasks_outstanding
        return bool(queue.qsize() >= known)
    except Exception:
        return None  # another PyTorch or system, or a class of the program's own


def is_first(iterator: Any) -> bool:
    """Whether a loader's iterator has not given any batch yet."""
    return not getattr(iterator, "_num_yielded", 1)


def _stay(iterator: Any) -> bool:
    """Whether the workers of a loader go on to its next iteration."""
    return bool(getattr(iterator, "_persistent_workers", False))


def began(iterator: Any, is_training: bool, ns: int) -> None:
    """A loader with workers began to iterate, which took so long."""
    if is_training and not _stay(iterator):
        _batches["turns"] += 1
        _batches["starts_ns"] += ns


def count(iterator: Any, ready: bool | None, is_training: bool, ns: int, is_first: bool) -> None:
    """Counts a batch, whether its workers had it ready, and how long it took to get it."""
    if ready is None or not is_training:
        return
    if not _batches["asked"]:
        metadata.framework("torch", batches=_batches)
    _batches["asked"] += 1
    _batches["ready"] += ready
    _batches["ready_ns" if ready else "late_ns"] += ns
    if is_first and not _stay(iterator):
        _batches["first_ns"] += ns


def ended(iterator: Any, ready: bool | None, is_training: bool, ns: int) -> None:
    """A loader has no more batches, and its workers have ended, which took so long."""
    if ready is not None and is_training and not _stay(iterator):
        _batches["ends_ns"] += ns


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _batches.update(dict.fromkeys(_batches, 0))
