"""Times of many rows in half as many bits, for columns that are kept long and seldom asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.engine import engine

Ints = npt.NDArray[np.int64]


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


class PutsAway:
    """A table whose columns of times can be put away: who asks for one gets it unpacked anew.

    So whoever needs one row after the other asks for the column first.
    """

    def put_away(self, name: str) -> PackedTimes:
        """Keeps a column packed from here on, and gives what holds it."""
        away: dict[str, PackedTimes] = vars(self).setdefault("_away", {})
        if name not in away:
            away[name] = PackedTimes(vars(self).pop(name))
        return away[name]

    def some(self, name: str, rows: npt.NDArray[np.integer]) -> Ints:
        """What a column of times has of some rows; of one that is put away without the others."""
        away: PackedTimes | None = vars(self).get("_away", {}).get(name)
        found: Ints = vars(self)[name][rows] if away is None else away.at(rows)
        return found

    def __getattr__(self, name: str) -> Any:
        away: PackedTimes | None = vars(self).get("_away", {}).get(name)
        if away is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return away.all()
