"""Which files the process has open to read, and how large they are beside what it reads.

A process that reads many times what its files hold reads the same bytes again and again. The kernel
counts what a thread has read. What it has open is looked at a few times: a file that is open
whenever somebody looks, or that is opened again and again, is seen many times, and one of many that
are read once is seen once.
"""

from __future__ import annotations

import os
import stat
import time

from . import blocked, notes
from .kinds import Any, Iterator
from .pace import Budget
from .secrets.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

    _Identity = Tuple[int, int]
    """Device and inode of a file."""

_EVERY_NS = 500000000
_MOST_FILES = 64
_MOST_ASKED = 1024
"""Descriptors of a process: with more of them it is not looked at what they are."""

_LONGEST_NAME = 80
_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
_MEMORY = "/memfd:", "/dev/zero", "/proc/", "/sys/", "/SYSV"
"""Where paths of what is no file begin."""


class _File:
    """What was seen of one file."""

    def __init__(self, name: str, look: int) -> None:
        self.name = name
        self.bytes = self.looks = 0
        self.first = self.last = look

    def see(self, size: int, look: int) -> None:
        """Takes note of a look at which it was open."""
        self.bytes = max(self.bytes, size)
        self.looks += self.last != look or not self.looks
        self.last = look

    def told(self) -> dict[str, Any]:
        """All of it, for the metadata."""
        return {
            "name": redact_value(self.name[:_LONGEST_NAME]),
            "bytes": self.bytes,
            "looks": self.looks,
            "first": self.first,
            "last": self.last,
        }


class Watch:
    """Looks at the files that are open, and at what the main thread has read."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._next_ns = 0
        self._looks = self._lost = 0
        self._begin: tuple[int, int, int] | None = None
        self._end = 0, 0, 0
        self._files: dict[_Identity, _File] = {}
        self._unread: set[tuple[int, int, int]] = set()
        """Descriptors with what they are of that is no file."""

    def look(self) -> None:
        """Looks once, if that is due."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_ns or not self._budget.is_left():
            return
        self._next_ns = now_ns + _EVERY_NS
        begin_ns = time.thread_time_ns()
        try:
            self._look(now_ns)
        except (OSError, ValueError, KeyError) as error:
            self._next_ns = 1 << 63
            notes.failure("open files are not looked at", error)
        self._budget.spent_ns += time.thread_time_ns() - begin_ns

    def told(self) -> dict[str, Any]:
        """What was seen, for the metadata."""
        begin, end = self._begin or self._end, self._end
        grown = [late - early for early, late in zip(begin, end)]
        return {
            "looks": self._looks,
            "lost": self._lost,
            "ns": grown[0],
            "read_bytes": grown[1],
            "written_bytes": grown[2],
            "files": [one.told() for one in list(self._files.values())],
        }

    def _look(self, now_ns: int) -> None:
        descriptors = os.listdir("/proc/self/fd")
        self._end = (now_ns, *_moved(os.getpid()))
        self._begin = self._begin or self._end
        self._looks += 1
        if len(descriptors) > _MOST_ASKED:
            self._lost += 1
            return
        for number in map(int, descriptors):
            self._see(number)

    def _see(self, number: int) -> None:
        try:
            self._see_open(number, os.fstat(number))
        except OSError:  # it has been closed by now
            return

    def _see_open(self, number: int, found: os.stat_result) -> None:
        identity = found.st_dev, found.st_ino
        known = self._files.get(identity)
        if known is None:
            descriptor = (number, *identity)
            if descriptor in self._unread:
                return
            is_file = stat.S_ISREG(found.st_mode)
            path = os.readlink("/proc/self/fd/%d" % number)
            if not is_file or not _is_read(number, path):
                # a file that is written now may be opened again to be read, under the same number
                if not is_file and len(self._unread) < _MOST_ASKED:
                    self._unread.add(descriptor)
                return
            if len(self._files) >= _MOST_FILES:
                self._lost += 1
                return
            known = self._files[identity] = _File(os.path.basename(path), self._looks)
        known.see(found.st_size, self._looks)


def _is_read(number: int, path: str) -> bool:
    """Whether a descriptor is of a file that can be read, and no memory or record of the agent."""
    records = (os.environ.get("PERFSCOPE_DIR") or "/nowhere").rstrip("/") + "/"
    is_shared_memory = path.startswith("/dev/shm/") and path.endswith(" (deleted)")
    if is_shared_memory or path.startswith((*_MEMORY, records)):
        return False
    fields = dict(_fields("/proc/self/fdinfo/%d" % number))
    return int(fields["flags"], 8) & _ACCESS != os.O_WRONLY if "flags" in fields else False


def _moved(thread_id: int) -> tuple[int, int]:
    """Bytes that a thread has read so far, and written, by what it asked the kernel for."""
    lines = blocked.of_thread(thread_id, "io").splitlines()
    fields = {name: int(value) for name, _, value in [line.partition(":") for line in lines]}
    return fields["rchar"], fields["wchar"]


def _fields(path: str) -> Iterator[tuple[str, str]]:
    with open(path, "rb") as stream:
        for line in stream:
            name, _, value = line.decode("ascii", "replace").partition(":")
            yield name, value.strip()


_watch: Watch | None = None


def start() -> None:
    """Looks from now on."""
    global _watch
    _watch = Watch()


def look() -> None:
    """Looks once, if that is due."""
    if _watch is not None:
        _watch.look()


def told() -> dict[str, Any]:
    """What was seen so far, for the metadata; nothing where it was not looked at."""
    return _watch.told() if _watch is not None else {}


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _watch
    _watch = None
