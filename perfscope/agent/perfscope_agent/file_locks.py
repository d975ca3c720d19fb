"""Which process holds the lock on a file that the main thread waits for, as the kernel tells it."""

from __future__ import annotations

import os
import sys
import time

from . import blocked, metadata
from .pace import Budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List

_LOCKS = "/proc/locks"
_LONGEST = 1 << 18
_MOST_FILES = 64
_MOST_HOLDERS = 64
_CALLS = ("flock", "fcntl")
_PAUSES = ("nanosleep", "clock_nanosleep", "select", "pselect6", "poll", "ppoll")
"""In which SQLite waits before it tries again: it never waits for a lock in the kernel."""

_held_by: Dict[int, int] = {}
_looks = [0]
_budget: List[Budget] = []


def look(thread_id: int) -> None:
    """Counts who holds the lock that a thread waits for now, if it does; must not raise."""
    if not _budget:
        _budget.append(Budget())
    if not thread_id or not _budget[0].is_left():
        return
    begin_ns = time.thread_time_ns()
    try:
        call = blocked.system_call(thread_id)
        if call in _CALLS or (call in _PAUSES and "_sqlite3" in sys.modules):
            _count(list(_holders(call in _CALLS)))
    except (OSError, ValueError, IndexError):
        pass  # a kernel or a sandbox that does not tell
    _budget[0].spent_ns += time.thread_time_ns() - begin_ns


def _count(holders: list[int]) -> None:
    if not holders:
        return
    _looks[0] += 1
    for pid in set(holders):
        if pid in _held_by or len(_held_by) < _MOST_HOLDERS:
            _held_by[pid] = _held_by.get(pid, 0) + 1
    held_by = [[pid, count] for pid, count in _held_by.items()]
    metadata.facts["file_locks"] = {"looks": _looks[0], "held_by": held_by}


def _holders(waits: bool) -> Iterator[int]:
    """Process ids of those whose locks this process waits for, or that are on its open files."""
    own = os.readlink("/proc/self")
    rows = [line.split() for line in _text().splitlines()]
    if waits:
        numbers = {row[0] for row in rows if row[1] == "->" and row[5] == own}
        found = [row for row in rows if row[0] in numbers and row[1] != "->"]
    else:
        files = _open_files()
        found = [row for row in rows if row[1] != "->" and row[3] == "WRITE" and row[5] in files]
    for row in found:
        if int(row[4]) > 0 and row[4] != own:
            yield int(row[4])


def _text() -> str:
    handle = os.open(_LOCKS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = part = os.read(handle, _LONGEST)
        while part and len(text) < _LONGEST:  # the kernel gives a page of it at most
            part = os.read(handle, _LONGEST)
            text += part
        return text.decode("ascii", "replace")
    finally:
        os.close(handle)


def _open_files() -> set[str]:
    """The open files of this process as that list names them: device and number."""
    found = set()
    for name in os.listdir("/proc/self/fd")[:_MOST_FILES]:
        try:
            told = os.stat("/proc/self/fd/" + name)
        except OSError:
            continue
        device = told.st_dev
        found.add("%02x:%02x:%d" % (os.major(device), os.minor(device), told.st_ino))
    return found


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _held_by.clear()
    _looks[0] = 0
    del _budget[:]
