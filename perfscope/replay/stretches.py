"""Columns that go on evenly from row to row, kept as the places where they do not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Int32s


class Stretches:
    """Whole numbers of rows, most of which follow from the row before: made anew when asked for.

    What breaks at more than every fourth row is kept as it is.
    """

    def __init__(self, values: Int32s, *, step: int) -> None:
        """Keeps values of which each is mostly `step` more than the one before it."""
        self._count, self._step = len(values), step
        breaks = np.flatnonzero(np.diff(values) != step) + 1
        is_even = 4 * len(breaks) <= len(values)
        self._values: Int32s | None = None if is_even else values
        first = np.append(0, breaks)[: len(values)] if is_even else np.empty(0, np.int64)
        self._first = first.astype(np.int32)
        self._start = values[first]

    def __len__(self) -> int:
        return self._count

    def all(self) -> Int32s:
        """The numbers of all rows; not to be written to."""
        if self._values is not None:
            return self._values
        lengths = np.diff(self._first, append=np.int32(self._count))
        if not self._step:
            every: Int32s = self._start.repeat(lengths)
            return every
        found: Int32s = np.repeat(self._start - self._first, lengths)
        found += np.arange(self._count, dtype=np.int32)
        return found

    def at(self, rows: npt.NDArray[np.integer]) -> Int32s:
        """The numbers of some rows."""
        if self._values is not None:
            some: Int32s = self._values[rows]
            return some
        place = np.searchsorted(self._first, rows.astype(np.int32, copy=False), side="right") - 1
        found: Int32s = self._start[place]
        if self._step:
            found = found + (rows - self._first[place]).astype(np.int32)
        return found
