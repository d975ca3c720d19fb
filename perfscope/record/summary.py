"""What a finished recording holds, from its headers: for the last line of `perfscope run`."""

import errno
import os
import struct
from pathlib import Path

from perfscope.files import head_of, read_json
from perfscope.foreign import mentions
from perfscope.structures import dataclass

MAGIC = b"PERFSCP1"
RANK_OFFSET = 168
ABI_OFFSET = 176
OPEN_MPI_ABI = 1
MPI_FLAG = 1
DISK_FULL_FLAG = 32
DROPPED_OFFSET = 208
_HEADER_END = 216
_NO_ROOM = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
_NOTE_BYTES = 4096
_MOST_ASKED = 64
_MOST_TOLD = 3


@dataclass(frozen=True)
class Summary:
    """What was recorded."""

    ranks: int  # process files with a rank in MPI_COMM_WORLD or from the agent
    processes: int  # process files in all
    dropped: int  # records that found no room
    size_bytes: int  # room taken on disk by the whole directory
    world_size: int = 0  # ranks of the largest MPI world that a process was in, 0 without MPI
    missing_ranks: int = 0  # ranks of that world without a file
    is_open_mpi: bool = False  # whether its MPI library was Open MPI
    is_disk_full: bool = False  # whether the file system had no room for records of a process


def summarize(directory: Path) -> Summary:
    """Counts the recorded processes of a run directory; unreadable files are left out."""
    ranks = processes = dropped = 0
    worlds: dict[int, set[int]] = {}
    is_open_mpi = is_disk_full = False
    for path in files_of(directory, "*/*.rec"):
        head = _head(path)
        if head is None:
            continue
        rank, world = struct.unpack_from("<ii", head, RANK_OFFSET)
        abi, flags = struct.unpack_from("<II", head, ABI_OFFSET)
        (lost,) = struct.unpack_from("<Q", head, DROPPED_OFFSET)
        processes += 1
        ranks += rank >= 0
        dropped += lost
        is_disk_full = is_disk_full or bool(flags & DISK_FULL_FLAG)
        if flags & MPI_FLAG and rank >= 0:
            worlds.setdefault(world, set()).add(rank)
            is_open_mpi = is_open_mpi or abi == OPEN_MPI_ABI
    is_disk_full = is_disk_full or any(map(_had_no_room, files_of(directory, "*/*.def")))
    size = sum(map(_stored_bytes, files_of(directory, "**/*")))
    largest = max(worlds, default=0)
    return Summary(
        ranks=ranks,
        processes=processes,
        dropped=dropped,
        size_bytes=size,
        world_size=largest,
        missing_ranks=max(0, largest - len(worlds.get(largest, ()))),
        is_open_mpi=is_open_mpi,
        is_disk_full=is_disk_full,
    )


def unreadable(directory: Path) -> str | None:
    """Why record files that are there cannot be read, as on a file system that failed; else None.

    One of them tells for all.
    """
    try:
        for place in directory.iterdir():
            for path in place.iterdir() if place.is_dir() else ():
                if path.suffix == ".rec":
                    head_of(path, 1)
                    return None
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def files_of(directory: Path, pattern: str) -> list[Path]:
    """The files of processes; none where their file system does not answer."""
    try:
        return sorted(directory.glob(pattern))
    except OSError:
        return []


def _had_no_room(definitions: Path) -> bool:
    """Whether a process left no records because there was no room for their file.

    The recorder noted then what the operating system said of it, if there was room for that.
    """
    if definitions.with_suffix(".rec").exists():
        return False
    try:
        told = head_of(definitions, _NOTE_BYTES)
    except OSError:
        return False
    return not told or mentions(told.decode(errors="replace"), *_NO_ROOM)


def told_by_agents(directory: Path) -> list[str]:
    """What kept Python processes from being recorded, as the agent noted it in them."""
    paths = files_of(directory, "*/*.json")[:_MOST_ASKED]
    told = dict.fromkeys(note for path in paths for note in _noted(path))
    return list(told)[:_MOST_TOLD]


def _noted(path: Path) -> list[str]:
    try:
        return [str(note) for note in read_json(path)["agent_notes"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _stored_bytes(path: Path) -> int:
    """What a file takes on disk; 0 of what is no file, or gone by now."""
    try:
        return path.stat().st_blocks * 512 if path.is_file() else 0
    except OSError:
        return 0


def _head(path: Path) -> bytes | None:
    try:
        head = head_of(path, _HEADER_END)
    except OSError:
        return None
    return head if len(head) == _HEADER_END and head.startswith(MAGIC) else None
