"""Which files a rank had open to read, read defensively from its metadata."""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.counts import whole

MOST_FILES = 64
LONGEST_NAME = 80


@dataclass(frozen=True)
class ReadFile:
    """One file that was open to be read."""

    name: str  # without its directory
    size_bytes: int  # at most
    looks: int  # at which it was open


@dataclass(frozen=True)
class ReadFiles:
    """What the main thread moved, and the files that were open while somebody looked."""

    looks: int  # at all open files
    is_whole: bool  # whether none of those that were open went untold
    read_bytes: int  # by the main thread between the first look and the last one
    written_bytes: int
    files: Sequence[ReadFile]

    @property
    def size_bytes(self) -> int:
        """What all these files hold."""
        return sum(one.size_bytes for one in self.files)

    @property
    def seen_once(self) -> int:
        """Files that a single look has met: so many were most likely not met at all."""
        return sum(one.looks == 1 for one in self.files)


def read_files(metadata: Mapping[str, Any]) -> ReadFiles | None:
    """What the agent saw; None where it did not look, or what it wrote is odd."""
    told = metadata.get("read_files")
    rows = told.get("files") if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(rows, Sequence):
        return None
    return ReadFiles(
        looks=whole(told.get("looks")),
        is_whole=whole(told.get("lost")) == 0,
        read_bytes=whole(told.get("read_bytes")),
        written_bytes=whole(told.get("written_bytes")),
        files=tuple(
            ReadFile(
                name=str(row.get("name", ""))[:LONGEST_NAME],
                size_bytes=whole(row.get("bytes")),
                looks=whole(row.get("looks")),
            )
            for row in rows[:MOST_FILES]
            if isinstance(row, Mapping)
        ),
    )
