"""Whether a program can be recorded at all, read from its ELF header."""

import contextlib
import os
import stat
import struct
from enum import Enum
from pathlib import Path

from perfscope.files import open_input

_ELF_MAGIC = b"\x7fELF"
_CLASS_64 = 2
_PT_INTERP = 3
_HEADER_BYTES = 64
_PROGRAM_HEADER_BYTES = 56


class Loadable(Enum):
    """What a program's dynamic linker makes of a preloaded library; the value is the reason."""

    YES = ""
    STATIC = "it is statically linked, so no recorder can be loaded into it"
    WRONG_WORD_SIZE = "it is not a 64-bit program, and the recorder is"
    NO_GLIBC = "its C library is not glibc, for which the recorder is built"
    PRIVILEGED = "it runs as another user or with capabilities, so the loader takes no recorder"


def loadable(program: Path) -> Loadable:
    """Whether the recorder can be loaded into a program; a script counts as loadable."""
    try:
        with open_input(program) as file:
            head = file.read(_HEADER_BYTES)
            if len(head) < _HEADER_BYTES or head[:4] != _ELF_MAGIC:
                return Loadable.YES
            if head[4] != _CLASS_64:
                return Loadable.WRONG_WORD_SIZE
            (table_offset,) = struct.unpack_from("<Q", head, 32)
            entry_bytes, entries = struct.unpack_from("<HH", head, 54)
            if _is_privileged(file.fileno()):
                return Loadable.PRIVILEGED
            file.seek(table_offset)
            return _judge(file.read(entry_bytes * entries), entry_bytes, program)
    except (OSError, struct.error):
        return Loadable.YES


def _is_privileged(file: int) -> bool:
    """Whether starting a program changes its user, its group or its capabilities."""
    found = os.fstat(file)
    if found.st_mode & stat.S_ISUID and found.st_uid != os.getuid():
        return True
    if found.st_mode & stat.S_ISGID and found.st_gid != os.getgid():
        return True
    with contextlib.suppress(OSError):  # none, or a file system that has none
        return os.getuid() != 0 and bool(os.getxattr(file, "security.capability"))
    return False


def _judge(table: bytes, entry_bytes: int, program: Path) -> Loadable:
    if entry_bytes < _PROGRAM_HEADER_BYTES:
        return Loadable.YES
    for start in range(0, len(table), entry_bytes):
        (kind,) = struct.unpack_from("<I", table, start)
        if kind == _PT_INTERP:
            (offset,) = struct.unpack_from("<Q", table, start + 8)
            (length,) = struct.unpack_from("<Q", table, start + 32)
            with open_input(program) as file:
                file.seek(offset)
                linker = file.read(length)
            return Loadable.NO_GLIBC if b"ld-musl" in linker else Loadable.YES
    return Loadable.STATIC
