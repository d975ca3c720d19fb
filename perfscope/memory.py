"""How much memory this process may still take."""

import resource
from collections.abc import Iterator
from pathlib import Path

from perfscope.files import read_bytes

ROW_BYTES = 640
"""What the analysis of a run takes at its peak for each call (docs/engine.md), and some room."""
PART = 2
"""That part of what is left is planned with: other programs need some, too."""

_MOST_BYTES = 1 << 20
_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_UNKNOWN = 1 << 62
_VERSION_1 = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
_VERSION_2 = "memory.max", "memory.current", "inactive_file"
"""Files of a control group: its limit, what it has taken, and of that what was read long ago."""


def rows_that_fit(left_bytes: int | None = None, *, row_bytes: int = ROW_BYTES) -> int:
    """Rows of a trace that can be kept and analyzed one by one.

    `left_bytes` may be taken, None asks the system; `row_bytes` is what a row takes at the peak.
    """
    left = left_bytes if left_bytes is not None else memory_left_bytes()
    return max(1, left // (PART * row_bytes))


def memory_left_bytes(*, proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """What this process may still take, in bytes.

    The least of what the machine has available, of what the control groups leave, and of what the
    limit on the address space leaves; more than any machine has where none is known.
    """
    left = [_UNKNOWN, addresses_left_bytes(proc=proc)]
    available = _field(proc / "meminfo", "MemAvailable:")
    if available is not None:
        left.append(available << 10)
    left += [_left_in(place, *names) for place, *names in _own_groups(proc, groups)]
    return max(0, min(left))


def addresses_left_bytes(*, proc: Path = _PROC) -> int:
    """What `ulimit -v` leaves to this process, for memory and mapped files alike."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _field(proc / "self" / "status", "VmSize:")
    if limit == resource.RLIM_INFINITY or taken is None:
        return _UNKNOWN
    return max(0, limit - (taken << 10))


def _left_in(group: Path, limit: str, usage: str, idle: str) -> int:
    """What a control group leaves; files that nobody has read of late make room for memory."""
    most, used = _number(group / limit), _number(group / usage)
    if most is None or used is None:
        return _UNKNOWN
    return most - max(0, used - (_field(group / "memory.stat", idle) or 0))


def _own_groups(proc: Path, groups: Path) -> Iterator[tuple[Path, str, str, str]]:
    """The control groups that this process is in, and those above; and the names of their files."""
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        names, top = _VERSION_2, groups
        if "memory" in controllers.split(","):
            names, top = _VERSION_1, groups / "memory"
        elif controllers:
            continue
        own = Path(path.lstrip("/"))
        for place in (own, *own.parents):
            yield (top / place, *names)


def _field(file: Path, name: str) -> int | None:
    """The number behind a name, None where the file or the name is missing."""
    for line in _lines(file):
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            return int(words[1])
    return None


def _number(file: Path) -> int | None:
    (text, *_) = _lines(file) or [""]
    return int(text) if text.isdecimal() else None


def _lines(file: Path) -> list[str]:
    """Those of a file of the kernel's, none where it cannot be read."""
    try:
        return read_bytes(file, _MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
