"""A control group whose memory is short: the kernel ends whoever takes more in it."""

import contextlib
import errno
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.support.waiting import wait_for

ROOT = Path("/sys/fs/cgroup")
LIMITS = {ROOT / "memory": "memory.limit_in_bytes", ROOT: "memory.max"}
"""The directory of groups and the file of their limit: version 1, version 2."""
LIMIT_BYTES = 16 << 20


def may_be_made() -> bool:
    """Whether this user may make such groups on this machine."""
    try:
        with short_of_memory():
            return True
    except OSError:
        return False


@contextlib.contextmanager
def short_of_memory() -> Iterator[Path]:
    """A group of its own; it is taken away when nobody is in it any more."""
    parent, limit = next((p, name) for p, name in LIMITS.items() if p.is_dir())
    group = parent / f"perfscope-{uuid.uuid4().hex}"
    group.mkdir()
    try:
        (group / limit).write_text(str(LIMIT_BYTES), encoding="ascii")
        yield group
    finally:
        wait_for("a group that is empty", lambda: _taken_away(group))


def _taken_away(group: Path) -> bool:
    """Whether it could be; who was killed there is in it for a moment yet."""
    try:
        group.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def kills(group: Path) -> int:
    """How often the kernel ended somebody there for want of memory."""
    names = ("memory.oom_control", "memory.events")
    counts = next(group / name for name in names if (group / name).exists())
    words = counts.read_text(encoding="ascii").split()
    return int(words[words.index("oom_kill") + 1])
