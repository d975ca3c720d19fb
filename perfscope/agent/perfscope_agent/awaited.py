"""The program's other threads, looked at while the main thread waits for one of them.

Who holds a lock may need no CPU for it, as a thread that waits for the network does: nothing else
has such threads watched. They are looked at whenever the main thread is seen to wait, and in the
look after that: who held the lock has left the function in which it did so, and who only rests
somewhere has not.
"""

from __future__ import annotations

from . import blocked, busy_threads
from .kinds import FrameType, Iterator, Mapping, Sequence, Tuple

_OF_THREADS = ("_thread.", "_queue.")
"""Modules in which threads wait for each other: all that `threading` and `queue` have is theirs."""

_MOST = 16
_MOST_DENSE = 300  # looks for which Python is woken each time: so many tell who it is
_STAYS = 50  # looks at which a thread that has been waiting is expected to wait again

_is_awaited = False
_dense = _left = 0


def is_for_thread(callee: str | None, call: str) -> bool:
    """Whether a thread waits for another one, by what it calls and what the kernel says of it.

    A lock that is free is taken without a system call. None: nothing tells what it calls.
    """
    is_known = callee is not None and callee.startswith(_OF_THREADS)
    return is_known and blocked.told(call) == "futex"


def is_due(*, waits: bool) -> bool:
    """Whether the others are looked at; `waits` tells whether the main thread was seen to wait."""
    return waits or _is_awaited


def is_near() -> bool:
    """Whether the main thread may soon wait again, and too few looks have told for whom yet."""
    return _left > 0 and _dense < _MOST_DENSE


def look(
    waits: Sequence[bool], frames: Mapping[int, FrameType], watched: Mapping[int, int]
) -> Iterator[Tuple[int, FrameType]]:
    """Kernel ids and frames of the threads that nothing else has watched, where they are due.

    `waits` tells whether the main thread was seen to wait since the last look, the latest at last.
    """
    global _is_awaited, _dense, _left
    is_waiting = bool(waits) and waits[-1]
    is_due_now, _is_awaited = is_due(waits=is_waiting), is_waiting
    _left = _STAYS if any(waits) else max(0, _left - 1)
    _dense += _left > 0
    if not is_due_now:
        return
    count = 0
    for identity, thread_id, name in busy_threads.threads():
        frame = None if identity in watched else frames.get(identity)
        if frame is not None and count < _MOST:
            count += 1
            busy_threads.keep_name(thread_id, name)
            yield thread_id, frame


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _is_awaited, _dense, _left
    _is_awaited, _dense, _left = False, 0, 0
