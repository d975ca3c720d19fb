"""What a finished recording holds, from its headers: for the last line of `perfscope run`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"PERFSCP1"
RANK_OFFSET = 168
DROPPED_OFFSET = 208
_HEADER_END = 216


@dataclass(frozen=True)
class Summary:
    """What was recorded.

    Attributes:
        ranks: process files with a rank in MPI_COMM_WORLD or from the agent.
        processes: process files in all.
        dropped: records that found no room.
        size_bytes: room taken on disk by the whole directory.
    """

    ranks: int
    processes: int
    dropped: int
    size_bytes: int


def summarise(directory: Path) -> Summary:
    """Counts the recorded processes of a run directory; unreadable files are left out."""
    ranks = processes = dropped = 0
    for path in directory.glob("*/*.rec"):
        head = _head(path)
        if head is None:
            continue
        (rank,) = struct.unpack_from("<i", head, RANK_OFFSET)
        (lost,) = struct.unpack_from("<Q", head, DROPPED_OFFSET)
        processes += 1
        ranks += rank >= 0
        dropped += lost
    size = sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
    return Summary(ranks=ranks, processes=processes, dropped=dropped, size_bytes=size)


def _head(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_END)
    except OSError:
        return None
    return head if len(head) == _HEADER_END and head.startswith(MAGIC) else None
