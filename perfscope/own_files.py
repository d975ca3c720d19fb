"""Files that a recording names, which may come from anybody: only the user's own are read."""

import os
import stat
from pathlib import Path

from perfscope.filesystem import mounted_at

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_UNMOUNTED = ("autofs", "unknown")
"""To look at a path below the first mounts what it names; the second may be anything."""


def is_below(path: Path, directory: Path) -> bool:
    """Whether a path leads to something in a directory, by its text alone."""
    is_plain = path.parts[:1] == ("/",) and ".." not in path.parts
    return is_plain and directory in path.parents


def read_own(path: Path, directory: Path, *, most_bytes: int, written_by_ns: int) -> bytes:
    """The content of a regular file of the user's, or of root's, below such a directory.

    No link is followed, above the directory or below it, and nothing is mounted. A file that was
    written after that time is not read.

    Raises:
        OSError: there is none, it is somebody else's, younger or larger, or it cannot be read.
    """
    if not is_below(path, directory) or mounted_at(path).kind in _UNMOUNTED:
        raise PermissionError(f"{path} is not looked at")
    place = _open_directory(path.parent, directory)
    try:
        # before it is opened: a FIFO or a device may act on that
        _check(os.stat(path.name, dir_fd=place, follow_symlinks=False), most_bytes, written_by_ns)
        descriptor = os.open(path.name, _FILE, dir_fd=place)
    finally:
        os.close(place)
    with os.fdopen(descriptor, "rb") as file:
        _check(os.fstat(descriptor), most_bytes, written_by_ns)
        return file.read(most_bytes)


def _open_directory(path: Path, owned: Path) -> int:
    """Opens a directory step by step from the root, and looks at whose one on the way is."""
    place = os.open("/", _DIRECTORY)
    try:
        for one in (*reversed(path.parents), path):
            if one.name:
                outer, place = place, os.open(one.name, _DIRECTORY, dir_fd=place)
                os.close(outer)
            if one == owned and not is_own(os.fstat(place)):
                raise PermissionError(f"{one} is somebody else's")
    except BaseException:
        os.close(place)
        raise
    return place


def _check(found: os.stat_result, most_bytes: int, written_by_ns: int) -> None:
    is_readable = stat.S_ISREG(found.st_mode) and is_own(found)
    if not is_readable or found.st_size > most_bytes or found.st_mtime_ns > written_by_ns:
        raise PermissionError("It is no file of the user's, too large, or too young")


def is_own(found: os.stat_result) -> bool:
    """Whether it belongs to who runs this process, or to root."""
    return found.st_uid in (0, os.geteuid())
