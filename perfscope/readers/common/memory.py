"""How much memory is left for a trace, and how many of its calls fit into it one by one."""

import resource
from pathlib import Path

from perfscope.files import read_bytes

ROW_BYTES = 640
"""What the analysis of a run takes at its peak for each call (docs/engine.md), and some room."""
PART = 2
"""That part of the memory that is left is planned with: other programs need some, too."""

_MOST_BYTES = 1 << 20
_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


def rows_that_fit(left_bytes: int | None = None, *, row_bytes: int = ROW_BYTES) -> int:
    """Calls of a trace that can be kept and analyzed one by one.

    `left_bytes` may be taken, None asks the system; `row_bytes` is what a call takes at the peak.
    """
    left = left_bytes if left_bytes is not None else memory_left_bytes()
    return max(1, left // (PART * row_bytes))


def memory_left_bytes(*, proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """What this process may still take, in bytes.

    The least of what the machine has available, of what the control groups (version 2) leave, and
    of what the limit on the address space leaves; more than any machine has where none is known.
    """
    left = [1 << 62]
    available = _field(proc / "meminfo", "MemAvailable:")
    if available is not None:
        left.append(available << 10)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _field(proc / "self" / "status", "VmSize:")
    if limit != resource.RLIM_INFINITY and taken is not None:
        left.append(limit - (taken << 10))
    own = _own_group(proc)
    for place in (groups / own, *(groups / parent for parent in own.parents)):
        most, used = _number(place / "memory.max"), _number(place / "memory.current")
        if most is not None and used is not None:
            left.append(most - used)
    return max(0, min(left))


def _own_group(proc: Path) -> Path:
    for line in _lines(proc / "self" / "cgroup"):
        if line.startswith("0::"):
            return Path(line[3:].lstrip("/"))
    return Path()


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
