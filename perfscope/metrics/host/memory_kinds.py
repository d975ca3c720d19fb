"""Of what kind the memory is that grows, as the kernel and the C library's allocator tell."""

from enum import Enum

import numpy as np

from perfscope.structures import dataclass
from perfscope.student_t import student_95
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
    """The kind that grows most, and by how many bytes a second; `share` of all growth.

    `kept_share` is what malloc keeps, beyond what the program has of it, of all that it holds.
    """

    kind: MemoryKind
    bytes_per_s: float
    share: float
    kept_share: float | None = None  # None where malloc does not tell


def growing_kind(rank: Rank, begin_ns: int, from_ns: int, to_ns: int) -> KindGrowth | None:
    """The kind of memory that grows most between two moments; None where that is not known.

    Large processes are looked at rarely, and what a step has and frees again goes up and down: with
    too few samples to tell, those since `begin_ns` do.
    """
    late = enough_before(rank.heap_samples, LEAST_SAMPLES, begin_ns, from_ns, to_ns)
    whole = enough_before(rank.heap_samples, len(rank.heap_samples), begin_ns, from_ns, to_ns)
    found = (_most(rows) for rows in (late, whole) if len(rows) >= LEAST_SAMPLES)
    return next((one for one in found if one is not None), None)


def _most(rows: Table) -> KindGrowth | None:
    """The kind that grows most over some samples; None where none does, or it is not sure which."""
    shared, files = _slope(rows, "shared_bytes"), _slope(rows, "file_bytes")
    anonymous, held = _slope(rows, "anonymous_bytes"), _slope(rows, "held_bytes")
    sure = {MemoryKind.SHARED: shared, MemoryKind.FILES: files}
    if not np.all(rows["held_bytes"] > 0):
        return _largest({**sure, MemoryKind.ANONYMOUS: anonymous}, None)
    kept_share = 1.0 - float(rows["allocated_bytes"].mean()) / float(rows["held_bytes"].mean())
    possible = []
    for slope in _allocated(rows, held):
        # what malloc gave out need not have been touched yet: no more of it is resident than grew
        used = min(slope, anonymous)
        of_malloc = {
            MemoryKind.ALLOCATED: used,
            MemoryKind.FREED: min(held, anonymous) - max(0.0, used),
            MemoryKind.OUTSIDE_MALLOC: anonymous - held,
        }
        possible.append(_largest({**sure, **of_malloc}, kept_share))
    kinds = {None if one is None else one.kind for one in possible}
    return possible[0] if len(kinds) == 1 else None


def _largest(found: dict[MemoryKind, float], kept_share: float | None) -> KindGrowth | None:
    kind = max(found, key=lambda one: found[one])
    growing = sum(value for value in found.values() if value > 0)
    return KindGrowth(kind, found[kind], found[kind] / growing, kept_share) if growing else None


def _allocated(rows: Table, held: float) -> tuple[float, ...]:
    """By how much more of malloc's memory is in use, per second.

    Where that may be chance, none of it, unless it may be all that malloc holds more of as well:
    then either (Student, 95 %).
    """
    slope, count = _slope(rows, "allocated_bytes"), len(rows)
    seconds = (rows["t"] - rows["t"][0]) / 1e9
    seconds = seconds - seconds.mean()
    values = rows["allocated_bytes"].astype(np.float64)
    off = values - values.mean() - slope * seconds
    spread = max(float(np.dot(seconds, seconds)), 1e-9)
    error = student_95(count - 2) * float(np.sqrt(np.dot(off, off) / (count - 2) / spread))
    if abs(slope) > error:
        return (slope,)
    return (0.0,) if held > slope + error else (0.0, held)


def enough_before(rows: Table, least: int, begin_ns: int, from_ns: int, to_ns: int) -> Table:
    """Samples between two moments, with so many before them that there are `least`, if there are.

    None is from before `begin_ns`.
    """
    known: Table = rows[(rows["t"] >= begin_ns) & (rows["t"] <= to_ns)]
    first = int(np.searchsorted(known["t"], from_ns))
    return known[max(0, min(first, len(known) - least)) :]


def _slope(rows: Table, column: str) -> float:
    """Bytes per second, by least squares."""
    seconds = (rows["t"] - rows["t"][0]) / 1e9
    seconds = seconds - seconds.mean()
    spread = float(np.dot(seconds, seconds))
    values = rows[column].astype(np.float64)
    return float(np.dot(seconds, values - values.mean())) / spread if spread > 0 else 0.0
