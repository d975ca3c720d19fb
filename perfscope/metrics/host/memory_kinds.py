"""Of what kind the memory is that grows, as the kernel and the C library's allocator tell."""

from enum import Enum

import numpy as np

from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table

LEAST_SAMPLES = 4


class MemoryKind(Enum):
    """Kinds of resident memory."""

    ALLOCATED = "allocated"  # with malloc, and not freed
    FREED = "freed"  # by the program, and kept by malloc
    OUTSIDE_MALLOC = "outside_malloc"  # anonymous: Python's own allocator, other ones, mmap
    SHARED = "shared"  # shared memory and tmpfs
    FILES = "files"  # pages of mapped files
    ANONYMOUS = "anonymous"  # of an allocator that does not tell


@dataclass(frozen=True)
class KindGrowth:
    """The kind that grows most, and by how many bytes a second; `share` of all growth."""

    kind: MemoryKind
    bytes_per_s: float
    share: float


def growing_kind(rank: Rank, from_ns: int, to_ns: int) -> KindGrowth | None:
    """The kind of memory that grows most between two moments; None where that was not sampled."""
    rows = rank.heap_samples
    rows = rows[(rows["t"] >= from_ns) & (rows["t"] <= to_ns)]
    if len(rows) < LEAST_SAMPLES:
        return None
    shared, files = _slope(rows, "shared_bytes"), _slope(rows, "file_bytes")
    anonymous = _slope(rows, "anonymous_bytes")
    found = {MemoryKind.SHARED: shared, MemoryKind.FILES: files}
    if np.all(rows["held_bytes"] > 0):
        allocated, held = _slope(rows, "allocated_bytes"), _slope(rows, "held_bytes")
        # what malloc gave out need not have been touched yet: no more of it is resident than grew
        found[MemoryKind.ALLOCATED] = min(allocated, anonymous)
        found[MemoryKind.FREED] = min(held, anonymous) - max(0.0, min(allocated, anonymous))
        found[MemoryKind.OUTSIDE_MALLOC] = anonymous - held
    else:
        found[MemoryKind.ANONYMOUS] = anonymous
    growing = sum(value for value in found.values() if value > 0)
    kind = max(found, key=lambda one: found[one])
    if found[kind] <= 0:
        return None
    return KindGrowth(kind, found[kind], found[kind] / growing)


def _slope(rows: Table, column: str) -> float:
    """Bytes per second, by least squares."""
    seconds = (rows["t"] - rows["t"][0]) / 1e9
    seconds = seconds - seconds.mean()
    spread = float(np.dot(seconds, seconds))
    values = rows[column].astype(np.float64)
    return float(np.dot(seconds, values - values.mean())) / spread if spread > 0 else 0.0
