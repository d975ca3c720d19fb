"""Which of the program's other threads use a CPU: their stacks are looked at as well.

A thread that runs Python code keeps the interpreter's lock from the main thread, which then waits
without a frame or a call that says so.
"""

from __future__ import annotations

import os
import sys

from . import metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Tuple

_MOST_ASKED = 64
_MOST_BUSY = 4
_BUSY_SHARE = 0.1  # of the time since the last look
_EVERY_NS = 250000000

_known: dict[int, Tuple[int, int]] = {}
"""CPU time and moment of the last look, by kernel thread id."""

_added: dict[int, int] = {}
"""Threads that are watched because they are busy: Python identity -> kernel thread id."""

_due_ns = 0


def look(now_ns: int, watched: dict[int, int]) -> None:
    """Has threads watched that used a CPU since the last look, and no longer those that rest."""
    global _due_ns
    if now_ns < _due_ns:
        return
    _due_ns = now_ns + _EVERY_NS
    for identity, thread_id, name in _threads():
        share = _share(thread_id, now_ns)
        if share >= _BUSY_SHARE and identity not in watched and len(_added) < _MOST_BUSY:
            watched[identity] = _added[identity] = thread_id
            names = metadata.facts.setdefault("python_threads", {})
            names[str(thread_id)] = name
        elif share < _BUSY_SHARE and _added.pop(identity, 0):
            watched.pop(identity, None)
    for identity in [one for one in _added if one not in watched]:
        del _added[identity]  # it has ended


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _due_ns
    _due_ns = 0
    _known.clear()
    _added.clear()


def _threads() -> Iterator[Tuple[int, int, str]]:
    """Identity, kernel id and name of threads that `threading` knows; none of their code runs."""
    active = getattr(sys.modules.get("threading"), "__dict__", {}).get("_active")
    if not isinstance(active, dict):
        return
    for identity, thread in list(active.items())[:_MOST_ASKED]:
        try:
            fields = object.__getattribute__(thread, "__dict__")
        except AttributeError:
            continue
        thread_id, name = fields.get("_native_id"), fields.get("_name")
        if type(thread_id) is int and thread_id != os.getpid():
            yield identity, thread_id, name if type(name) is str else ""


def _share(thread_id: int, now_ns: int) -> float:
    """The part of the time since the last look in which a thread used a CPU."""
    cpu_ns = _cpu_ns(thread_id)
    before_ns, then_ns = _known.get(thread_id, (cpu_ns, now_ns))
    _known[thread_id] = (cpu_ns, now_ns)
    return (cpu_ns - before_ns) / (now_ns - then_ns) if now_ns > then_ns else 0.0


def _cpu_ns(thread_id: int) -> int:
    try:
        handle = os.open("/proc/self/task/%d/schedstat" % thread_id, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return int(os.read(handle, 128).split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    finally:
        os.close(handle)
