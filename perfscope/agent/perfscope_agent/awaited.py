"""The program's other threads, looked at while the main thread waits for one of them.

Who holds a lock may need no CPU for it, as a thread that waits for the network does: nothing else
has such threads watched. They are looked at whenever the main thread is seen to wait, and in the
look after that: who held the lock has left the function in which it did so, and who only rests
somewhere has not.
"""

from __future__ import annotations

from itertools import islice

from . import blocked, busy_threads
from .kinds import FrameType, Mapping, Sequence, Tuple

_OF_THREADS = ("_thread.", "_queue.")
"""Modules in which threads wait for each other: all that `threading` and `queue` have is theirs."""

_MOST = 16
_MOST_ASKED = 1000  # threads of which those are chosen
_MOST_DENSE = 300  # looks for which Python is woken each time: so many tell who it is
_STAYS = 50  # looks at which a thread that has been waiting is expected to wait again

_is_awaited = False
_dense = _left = _chosen = 0

_moved: dict[int, tuple[tuple[int, int], int]] = {}
"""By Python identity: where a thread was when it was last chosen from, and when it had moved."""


def is_of_threads(callee: str | None) -> bool:
    """Whether threads may wait for each other in what is called; None where nothing tells that."""
    return callee is not None and callee.startswith(_OF_THREADS)


def is_for_thread(callee: str | None, call: str) -> bool:
    """Whether a thread waits for another one, by what it calls and what the kernel says of it.

    A lock that is free is taken without a system call.
    """
    return is_of_threads(callee) and blocked.told(call) == "futex"


def is_due(*, waits: bool) -> bool:
    """Whether the others are looked at; `waits` tells whether the main thread was seen to wait."""
    return waits or _is_awaited


def is_near() -> bool:
    """Whether the main thread may soon wait again, and too few looks have told for whom yet."""
    return _left > 0 and _dense < _MOST_DENSE


def note(waits: Sequence[bool]) -> bool:
    """Whether the others are due now, by what was seen of the main thread since the last look.

    `waits` tells of each time that it was seen whether it waited, the latest at last.
    """
    global _is_awaited, _dense, _left
    is_waiting = bool(waits) and waits[-1]
    is_due_now, _is_awaited = is_due(waits=is_waiting), is_waiting
    _left = _STAYS if any(waits) else max(0, _left - 1)
    _dense += _left > 0
    return is_due_now


def others(
    frames: Mapping[int, FrameType], watched: Mapping[int, int]
) -> list[Tuple[int, str, FrameType]]:
    """Kernel ids, names and frames of threads that nothing else has watched.

    Of many it is those that have moved last, as who holds a lock has come to do so; and of those
    that were never seen to move, other ones each time.
    """
    global _chosen, _moved
    _chosen += 1
    moved = {}
    for identity, frame in islice(frames.items(), _MOST_ASKED):
        if identity not in watched:
            here = id(frame.f_code), frame.f_lasti
            before, last = _moved.get(identity, (here, 0))
            moved[identity] = here, last if here == before else _chosen
    _moved = moved
    turned = list(moved)
    first = _chosen * _MOST % max(1, len(turned))
    lately = [one for one in turned if moved[one][1]]
    lately.sort(key=lambda one: moved[one][1], reverse=True)
    in_order = dict.fromkeys([*lately, *turned[first:], *turned[:first]])
    # only of those that are chosen it is asked who they are
    found = islice(busy_threads.threads(in_order), _MOST)
    return [(thread_id, name, frames[identity]) for identity, thread_id, name in found]


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _is_awaited, _dense, _left, _chosen
    _is_awaited, _dense, _left, _chosen = False, 0, 0, 0
    _moved.clear()
