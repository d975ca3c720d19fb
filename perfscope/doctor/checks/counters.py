"""Hardware counters, through the kernel's perf_event_open."""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings

_TITLE = "Hardware counters"
_NUMBERS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319}
_ATTRIBUTE_BYTES = 112
_HARDWARE, _CPU_CYCLES = 0, 0
_EXCLUDE_KERNEL_AND_HYPERVISOR = 1 << 5 | 1 << 6
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def look(_around: Surroundings) -> Sequence[Outcome]:
    """Opens a counter of CPU cycles for this process and closes it."""
    machine = os.uname().machine
    number = _NUMBERS.get(machine)
    if number is None:
        why = f"perfscope does not know how to read them on {machine}; perfscope does not need them"
        return [Outcome(_TITLE, State.NOT_THERE, why, "no action needed: perfscope run works")]
    error = _open_error(number)
    details = {"errno": error, "paranoid": _paranoid()}
    if error == 0:
        return [Outcome(_TITLE, State.OK, "available", details=details)]
    if error in (errno.EACCES, errno.EPERM):
        why = "the kernel does not allow this user to read them; perfscope does not need them"
        fix = "as root: sysctl kernel.perf_event_paranoid=2 (in a container: --cap-add PERFMON)"
        return [Outcome(_TITLE, State.NOT_THERE, why, fix, details)]
    why = f"not available on this machine ({os.strerror(error)}); perfscope does not need them"
    fix = "a virtual machine gets them from its host (libvirt: <pmu state='on'/>)"
    return [Outcome(_TITLE, State.NOT_THERE, why, fix, details)]


def _open_error(number: int) -> int:
    head = struct.pack("<IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _CPU_CYCLES, 0, 0, 0,
                       _EXCLUDE_KERNEL_AND_HYPERVISOR)  # fmt: skip
    attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    file = library.syscall(number, attribute, 0, -1, -1, 0)
    if file < 0:
        return ctypes.get_errno()
    os.close(file)
    return 0


def _paranoid() -> int | None:
    try:
        return int(_PARANOID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


CHECK = Check("counters", look)
