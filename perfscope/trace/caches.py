"""Caches of a rank's functions as they were at its end, read defensively from its metadata."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import frame_of

MOST_CACHES = 64


@dataclass(frozen=True)
class Cache:
    """What one function's `lru_cache` counted."""

    frame: Frame  # of the function, where it begins
    hits: int  # results that were returned from it
    misses: int  # results that were computed
    most: int  # results that fit in
    size: int  # results that were in it

    @property
    def evicted(self) -> int:
        """Results that it no longer held; 0 where it never was full."""
        return max(0, self.misses - self.size) if self.size >= self.most else 0

    @property
    def again_share(self) -> float:
        """The share of what was computed that may have been computed before, at most.

        What the cache holds at the end are so many different results, each computed a first time.
        """
        return self.evicted / self.misses if self.misses else 0.0


def caches(metadata: Mapping[str, Any]) -> tuple[Cache, ...]:
    """The bounded caches of a rank; none where it did not tell, or what it wrote is odd."""
    rows = metadata.get("caches")
    return tuple(_caches(rows[:MOST_CACHES])) if isinstance(rows, Sequence) else ()


def _caches(rows: Sequence[Any]) -> Iterator[Cache]:
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        frame = frame_of(row.get("place"))
        counts = [whole(row.get(name)) for name in ("hits", "misses", "most", "size")]
        if frame is not None and counts[2]:
            yield Cache(frame, *counts)
