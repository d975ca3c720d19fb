"""How long ago a moment of a job was, by a clock that does not jump where there is one.

A wall clock is set anew by people and by NTP, and goes on while a machine is suspended. The clock
that records are timed by does neither. A process of the same boot and time namespace reads the
same one; from another machine only wall clocks can be compared.
"""

import time
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
TIME_NAMESPACE = Path("/proc/self/ns/time")


def own_clock() -> tuple[str, int]:
    """The boot and the time namespace of this process; "" and 0 where they cannot be told."""
    try:
        boot = BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        boot = ""
    try:
        namespace = TIME_NAMESPACE.stat().st_ino
    except OSError:
        namespace = 0
    return boot, namespace


def since_ns(clock: tuple[str, int], mono_ns: int | None, unix_ns: int | None) -> int:
    """How long ago a moment was, which is told by a clock of records and by the wall clock.

    None is a moment that is not told by that clock; of what no clock here tells it is 0.
    """
    if mono_ns is not None and clock[0] and clock == own_clock():
        return time.monotonic_ns() - mono_ns
    return 0 if unix_ns is None else time.time_ns() - unix_ns
