"""Tables for which the memory does not suffice live in unnamed temporary files.

The kernel writes their pages out where memory is short and reads them where they are asked for; the
files are gone with the process, however it ends. Only commands that `allow` it use them: the
library leaves the memory of the program that it is part of alone.
"""

import os
import tempfile
from pathlib import Path

from perfscope.engine import engine
from perfscope.errors import PerfscopeError
from perfscope.memory import PART, addresses_left_bytes, memory_left_bytes, rows_that_fit
from perfscope.output import tell
from perfscope.structures import dataclass
from perfscope.units import format_bytes

_UNLIMITED = (1 << 63) - 1
_FILLED = 0.85
"""Tables are kept in memory as long as they fill no more of what is left."""
_RESIDENT = 0.6
"""That share of the memory is for tables that have not moved; the rest holds pages of files."""


@dataclass(frozen=True)
class Place:
    """A directory on a disk."""

    path: Path
    room_bytes: int


@dataclass
class _State:
    place: Place | None = None  # None: files are not used
    passed_over: str = ""  # a directory that memory holds, "" none
    is_decided: bool = False


_now = _State()


def allow() -> None:
    """From here on large tables may go to files; `expect` decides how many do."""
    left = memory_left_bytes()
    _now.passed_over, _now.is_decided = "", False
    place = _place() if left < addresses_left_bytes() else None  # files need addresses, too
    _now.place = None
    if place is not None and engine.use_files(str(place.path), left // PART, left // PART // PART):
        _now.place = place


def expect(need_bytes: int, what: str) -> None:
    """Tells how much memory the analysis will take at its peak.

    What the estimate says is told and decides where tables live, but refuses nothing: it may be
    wrong, and a table for which there is no room is an error of its own.

    Args:
        need_bytes: an estimate.
        what: what needs it, as the beginning of a sentence.
    """
    left = memory_left_bytes()
    if _now.is_decided or not (_now.place or _now.passed_over):
        return
    _now.is_decided = True
    if need_bytes > left * _FILLED:
        tell(f"{what} need about {format_bytes(need_bytes)}: {_told(need_bytes, left)}.")
        if _now.place is not None:
            engine.use_files(str(_now.place.path), 0, round(left * _RESIDENT))
    elif _now.place is not None:
        engine.use_files(str(_now.place.path), _UNLIMITED, left // PART)


def _told(need_bytes: int, left_bytes: int) -> str:
    """Where tables go, and what to do about it."""
    memory = f"{format_bytes(left_bytes)} of memory are left"
    passed_over = f"{_now.passed_over} is held in memory, too"
    larger = "TMPDIR may name a directory on a larger disk"
    if _now.place is None:
        return f"{memory}, and {passed_over}; {larger}"
    room = f"{format_bytes(_now.place.room_bytes)} free"
    if _now.passed_over:
        room += f"; {passed_over}"
    if need_bytes > left_bytes + _now.place.room_bytes:
        room += f"; {larger}"
    where = f"unnamed temporary files in {_now.place.path}"
    return f"{memory}, so the oldest tables move to {where} ({room})"


def calls_that_fit() -> int:
    """Calls of a trace that can be kept and analyzed one by one, in memory and in files."""
    return rows_that_fit(memory_left_bytes() + _room_bytes())


def refused() -> PerfscopeError | None:
    """Why a file could not be made for a table, None where none was refused."""
    if _now.place is None:
        return None
    _, error, size_bytes = engine.files_used()
    if not error:
        return None
    return PerfscopeError(
        f"There is no room for a table of {format_bytes(size_bytes)} in {_now.place.path}.",
        why=f"{os.strerror(error)}; the memory of the machine is used up, too.",
        action="Make room there, or set TMPDIR to a directory on a larger disk.",
    )


def _room_bytes() -> int:
    """What files may still take."""
    if _now.place is None:
        return 0
    room, _ = engine.room_below(str(_now.place.path))
    return min(room, max(0, addresses_left_bytes() - memory_left_bytes()))


def _place() -> Place | None:
    """The directory for files: that of temporary ones, or another where memory holds that."""
    try:
        temporary = Path(tempfile.gettempdir())
    except FileNotFoundError:  # no directory for them takes a file
        return None
    for path in dict.fromkeys((temporary, Path("/var/tmp"))):
        room, is_memory = engine.room_below(str(path))
        if is_memory:
            _now.passed_over = str(path)
        elif os.access(path, os.W_OK | os.X_OK):
            return Place(path, room)
    return None
