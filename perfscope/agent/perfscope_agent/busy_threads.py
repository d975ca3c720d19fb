"""Which of the program's other threads use a CPU: their stacks are looked at as well.

A thread that runs Python code keeps the interpreter's lock from the main thread, which then waits
without a frame or a call that says so.
"""

from __future__ import annotations

import os
from itertools import islice

from . import blocked, metadata, own_threads
from .kinds import Iterable, Iterator, Tuple

_MOST_ASKED = 64
_MOST_BUSY = 4
_BUSY_SHARE = 0.1  # of the time since the last look
_EVERY_NS = 250000000
_MOST_NAMES = 1000  # of threads that were busy: a program may start one in each step

_known: dict[int, int] = {}
"""CPU time at the last look, by kernel thread id, of the threads that there were then."""

_added: dict[int, int] = {}
"""Threads that are watched because they are busy: Python identity -> kernel thread id."""

_looked_ns = 0


def look(now_ns: int, watched: dict[int, int]) -> None:
    """Has threads watched that used a CPU since the last look, and no longer those that rest."""
    global _looked_ns
    passed_ns = now_ns - _looked_ns if _looked_ns else 0
    if 0 < passed_ns < _EVERY_NS:
        return
    _looked_ns = now_ns
    before = dict(_known)
    _known.clear()
    for identity, thread_id, name in islice(threads(), _MOST_ASKED):
        _known[thread_id] = cpu_ns = _cpu_ns(thread_id)
        # a thread that was not there has used all of its time since
        used_ns = cpu_ns - before.get(thread_id, 0)
        is_busy = used_ns >= _BUSY_SHARE * passed_ns > 0
        is_new = identity not in watched and len(_added) < _MOST_BUSY
        if is_busy and (is_new or identity in _added):  # maybe once that of one that has ended
            watched[identity] = _added[identity] = thread_id
            keep_name(thread_id, name)
        elif not is_busy and _added.pop(identity, 0):
            watched.pop(identity, None)
    for identity in [one for one in _added if one not in watched]:
        del _added[identity]  # it has ended


def keep_name(thread_id: int, name: str) -> None:
    """Has the recording tell what `threading` calls a thread."""
    names = metadata.facts.setdefault("python_threads", {})
    if len(names) < _MOST_NAMES:
        names[str(thread_id)] = name


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _looked_ns
    _looked_ns = 0
    _known.clear()
    _added.clear()


def threads(asked: Iterable[int] | None = None) -> Iterator[Tuple[int, int, str]]:
    """Identity, kernel id and name of threads that `threading` knows; none of their code runs.

    Of those that are asked for, in that order, or of all.
    """
    active = own_threads.contents("threading").get("_active")
    if not isinstance(active, dict):
        return
    for identity in list(active) if asked is None else asked:
        try:
            fields = object.__getattribute__(active.get(identity), "__dict__")
        except AttributeError:
            continue
        thread_id, name = fields.get("_native_id"), fields.get("_name")
        if type(thread_id) is int and thread_id != os.getpid():
            yield identity, thread_id, name if type(name) is str else ""


def _cpu_ns(thread_id: int) -> int:
    try:
        return int(blocked.of_thread(thread_id, "schedstat").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
