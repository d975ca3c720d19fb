"""Whether workers of training DataLoaders have batches in time, and what starting them takes."""

from __future__ import annotations

from .. import metadata
from ..kinds import Any

_COUNTED = ("asked", "ready", "ready_ns", "late_ns", "turns", "first_ns", "starts_ns", "ends_ns")
_MOST_RUNNING = 64

_batches = dict.fromkeys(_COUNTED, 0)
"""Batches that workers made and the time it took to get them. Of workers that end with each
iteration also how often they began, what their starts, first batches and ends took."""

_doubtful = dict.fromkeys(_COUNTED, 0)
"""The same of iterations with gradients that went by without any backward pass: tests, mostly."""

_running: dict[int, _Iteration] = {}
"""By identity of the iterator, until a backward pass shows what the batches are for."""

passes = [0]
"""Backward passes so far: what is iterated over when one begins is trained on."""


class _Iteration:
    """What one iteration over a loader has counted and not told yet."""

    __slots__ = ("counts", "passes")

    def __init__(self) -> None:
        self.passes = passes[0]
        self.counts = dict.fromkeys(_COUNTED, 0)

    @property
    def is_training(self) -> bool:
        """Whether a backward pass has come since it began."""
        return passes[0] > self.passes

    def tell(self) -> None:
        """Adds what it has counted to the sums of what it is for as far as can be told, once."""
        sums = _batches if self.is_training else _doubtful
        for name, value in self.counts.items():
            sums[name] += value
        self.counts = dict.fromkeys(_COUNTED, 0)


def _iteration(iterator: Any) -> _Iteration:
    known = _running.get(id(iterator))
    if known is None:
        if len(_running) >= _MOST_RUNNING:
            for one in list(_running.values()):
                one.tell()
            _running.clear()
        known = _running[id(iterator)] = _Iteration()
    return known


def _end(iterator: Any) -> None:
    """An iteration is over: what it was for shows now, if ever."""
    known = _running.pop(id(iterator), None)
    if known is not None:
        known.tell()


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


def began(iterator: Any, has_gradients: bool, ns: int) -> None:
    """A loader with workers began to iterate, which took so long."""
    _end(iterator)
    if has_gradients and not _stay(iterator):
        counts = _iteration(iterator).counts
        counts["turns"] += 1
        counts["starts_ns"] += ns


def count(iterator: Any, ready: bool | None, has_gradients: bool, ns: int, is_first: bool) -> None:
    """Counts a batch, whether its workers had it ready, and how long it took to get it."""
    if ready is None or not has_gradients:
        return
    iteration = _iteration(iterator)
    if iteration.is_training:
        iteration.tell()
    counts = iteration.counts
    counts["asked"] += 1
    counts["ready"] += ready
    counts["ready_ns" if ready else "late_ns"] += ns
    if is_first and not _stay(iterator):
        counts["first_ns"] += ns


def ended(iterator: Any, ready: bool | None, has_gradients: bool, ns: int) -> None:
    """A loader has no more batches, and its workers have ended, which took so long."""
    if ready is not None and has_gradients and not _stay(iterator):
        _iteration(iterator).counts["ends_ns"] += ns
    _end(iterator)


def finish() -> None:
    """At exit: notes what was counted; all of it where the program passes nothing back."""
    for iteration in list(_running.values()):
        iteration.tell()
    if not passes[0]:
        for name, value in _doubtful.items():
            _batches[name] += value
    if _batches["asked"]:
        metadata.framework("torch", batches=_batches)


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    passes[0] = 0
    _running.clear()
    for sums in (_batches, _doubtful):
        sums.update(dict.fromkeys(_COUNTED, 0))
