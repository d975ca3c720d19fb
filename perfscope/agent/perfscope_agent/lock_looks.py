"""How often the interpreter's lock is taken at the moments at which stacks are to be looked at.

A thread that wakes up has to ask for the lock. How long it then neither runs nor waits for a CPU,
it waits for the lock: code that is merely in some line of Python gives it back in many C functions,
and no stack tells which.
"""

from __future__ import annotations

import sys

from . import blocked, metadata

_SHARE = 0.2
"""Of the interval at which Python makes a thread give the lock away: to wait longer is no noise."""

statistics = {"asked": 0, "taken": 0}
"""Moments at which the lock was asked for beside another thread of the program that used a CPU."""

_queued_ns = 0
"""How long the looking thread had waited for a CPU by the look before, 0 unknown."""


def woken(thread_id: int, due_ns: int, now_ns: int) -> None:
    """Takes note of a look that was due at one moment and got the lock at another.

    Args:
        thread_id: of the thread that looks, the kernel's number.
        due_ns: by the monotonic clock.
        now_ns: by the monotonic clock.
    """
    global _queued_ns
    try:
        queued_ns = int(blocked.of_thread(thread_id, "schedstat").split()[1])
    except (OSError, ValueError, IndexError):
        return  # a kernel that does not tell
    before_ns, _queued_ns = _queued_ns, queued_ns
    least_ns = _SHARE * sys.getswitchinterval() * 1e9
    if before_ns and queued_ns - before_ns <= least_ns:  # else it may be the CPU that was taken
        metadata.facts["lock_looks"] = statistics
        statistics["asked"] += 1
        statistics["taken"] += int(now_ns - due_ns - (queued_ns - before_ns) > least_ns)


def leave() -> None:
    """No other thread uses a CPU: what the looking thread waits for from now on tells nothing."""
    global _queued_ns
    _queued_ns = 0


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    statistics.update(asked=0, taken=0)
    leave()
