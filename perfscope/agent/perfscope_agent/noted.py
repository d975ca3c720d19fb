"""The stacks of the main thread that have been noted at the moments at which looks were due.

Who asks for the interpreter's lock gets it where the main thread gives it back: in C code that
works without it, hardly in Python code. Looks that wait for the lock see too much of the one and
too little of the other. So the waits between looks are C code, which has the main thread note its
stack as soon as its evaluation loop looks up, and notes it itself while that works without the
lock. Python is not woken for each: handing it the lock costs more than all that it does then.
"""

from __future__ import annotations

import sys

from . import bytecode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import List, Tuple

    from .recorder import Recorder

    Note = Tuple[int, int, int, str, List[Tuple[CodeType, int]], int]
    """Moment, when it was due, cost in ns, the system call inside, the places, since when there."""

_VERSION = sys.version_info[:2]
_LOOK_UP = {(3, 9): 72, (3, 10): 68, (3, 11): 100, (3, 12): 368, (3, 13): 0}
"""Where in its interpreter's state a Python keeps what makes its evaluation loop look up.

Python 3.13 sets it for calls that other threads add; earlier ones do so for the main thread's own
only. The recorder uses the place after it has seen Python itself set it so and clear it again.
"""
_HAS_ONE_HOLDER = _VERSION <= (3, 11)
_MAY_COLLECT = _VERSION == (3, 11)
_is_off = False


def start(rec: Recorder) -> None:
    """Prepares the calling thread, the main one, to note its stack."""
    global _is_off
    _is_off = False
    is_usual = bytecode.is_known() and not set(getattr(sys, "abiflags", "t")) & set("dt")
    if is_usual and _VERSION in _LOOK_UP:
        place = _LOOK_UP[_VERSION]
        rec.stack_notes_start(id(None), place, _HAS_ONE_HOLDER, _MAY_COLLECT)
    else:
        rec.stack_notes_start(None, 0, 0, 0)


def stop(rec: Recorder) -> None:
    """Another thread runs the program, and Python has only the main one look up."""
    global _is_off
    _is_off = True
    rec.stack_notes_start(None, 0, 0, 0)


def take(rec: Recorder) -> list[Note]:
    """What has been noted, oldest first; nothing is until the next wait."""
    return rec.stack_notes() if rec.stack_is_noted() and not _is_off else []
