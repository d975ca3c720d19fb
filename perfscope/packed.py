"""Columns that are kept long and seldom asked for, in few bits: times, and what goes on evenly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Int32s, Ints
from perfscope.engine import engine
from perfscope.search import places


class PackedTimes:
    """Nanoseconds of rows, which are the same when they are unpacked, whatever they are.

    Neighbors lie close together: each 64 have a base, and each row how much later it is.
    """

    def __init__(self, times: Ints) -> None:
        self._packed = engine.packed_times(np.ascontiguousarray(times, np.int64))

    def __len__(self) -> int:
        return len(self._packed[1])

    def all(self) -> Ints:
        """Those of all rows, unpacked anew."""
        return self.between(0, len(self))

    def between(self, first: int, end: int) -> Ints:
        """Those of rows [first, end)."""
        return engine.unpacked_times(self._packed, first, end)

    def at(self, rows: npt.NDArray[np.integer]) -> Ints:
        """Those of some rows."""
        return engine.unpacked_rows(self._packed, np.ascontiguousarray(rows, np.int64))


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
        return self.between(0, self._count)

    def at(self, rows: npt.NDArray[np.integer]) -> Int32s:
        """The numbers of some rows."""
        if self._values is not None:
            some: Int32s = self._values[rows]
            return some
        place = places(self._first.astype(np.int64), rows.astype(np.int64, copy=False), "right") - 1
        found: Int32s = self._start[place]
        if self._step:
            found = found + (rows - self._first[place]).astype(np.int32)
        return found

    def between(self, first: int, end: int) -> Int32s:
        """The numbers of rows [first, end); not to be written to."""
        if self._values is not None or first >= end:
            values: Int32s = (self._start if self._values is None else self._values)[first:end]
            return values
        begin = int(np.searchsorted(self._first, np.int32(first), side="right")) - 1
        behind = int(np.searchsorted(self._first, np.int32(end)))
        edges = np.append(self._first[begin:behind], np.int32(end))
        edges[0] = first
        if not self._step:
            every: Int32s = self._start[begin:behind].repeat(np.diff(edges))
            return every
        ahead = self._start[begin:behind] - self._first[begin:behind]
        found: Int32s = ahead.repeat(np.diff(edges))
        found += np.arange(first, end, dtype=np.int32)
        return found


Packed = PackedTimes | Stretches


class PutsAway:
    """A table whose columns can be put away: who asks for one gets it unpacked anew.

    So whoever needs one row after the other asks for the column first.
    """

    def put_away(self, name: str, packs: Callable[[Any], Packed] = PackedTimes) -> Packed:
        """Keeps a column packed from here on, and gives what holds it."""
        away: dict[str, Packed] = vars(self).setdefault("_away", {})
        if name not in away:
            away[name] = packs(vars(self).pop(name))
        return away[name]

    def some(self, name: str, rows: npt.NDArray[np.integer]) -> Ints:
        """What a column of times has of some rows; of one that is put away without the others."""
        away: Packed | None = vars(self).get("_away", {}).get(name)
        found: npt.NDArray[Any] = vars(self)[name][rows] if away is None else away.at(rows)
        return found

    def between(self, name: str, first: int, end: int) -> Ints:
        """What a column of times has of rows [first, end), as `some`."""
        away: Packed | None = vars(self).get("_away", {}).get(name)
        held = vars(self)[name][first:end] if away is None else away.between(first, end)
        found: npt.NDArray[Any] = held
        return found

    def __getattr__(self, name: str) -> Any:
        away: Packed | None = vars(self).get("_away", {}).get(name)
        if away is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return away.all()
