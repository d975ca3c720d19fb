"""A table stored by column: reading one column touches no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.packed import Packed
from perfscope.structures import dataclass
from perfscope.trace.model import Table


@dataclass(frozen=True)
class _Away:
    """A column that somebody else holds packed, among others."""

    held: Packed
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice) or key.step not in (None, 1):
            return self.all()[key]
        begin, end, _ = key.indices(len(self))
        return self.held.between(self.first + begin, self.first + max(begin, end))

    def all(self) -> npt.NDArray[Any]:
        """All of it, unpacked anew."""
        return self.held.between(self.first, self.end)


class Columns:
    """Stands for a structured array where long tables are kept column by column.

    Whoever names a column gets that array; whoever chooses rows, or copies the table, gets a
    structured array of them.
    """

    def __init__(self, dtype: np.dtype[np.void], columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self.dtype = dtype
        self._columns: dict[str, npt.NDArray[Any] | _Away] = dict(columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key: Any) -> Any:
        """A column, a row, or the rows that a slice, a mask or places choose."""
        if isinstance(key, str):
            column = self._columns[key]
            return column.all() if isinstance(column, _Away) else column
        if isinstance(key, int | np.integer):
            return self[int(key) : int(key) + 1 or None][0]
        chosen = {name: column[key] for name, column in self._columns.items()}
        kept = np.dtype([(name, self.dtype[name]) for name in chosen])
        rows = np.empty(len(next(iter(chosen.values()))), kept)
        for name, column in chosen.items():
            rows[name] = column
        return rows

    def __setitem__(self, name: str, values: npt.NDArray[Any]) -> None:
        """Puts other values into a column; those that somebody else sees, too, stay there."""
        if values is self._columns.get(name):  # they were changed in place
            return
        self._columns[name] = np.array(values, self.dtype[name])

    def share(self, name: str, values: npt.NDArray[Any]) -> None:
        """Has a column be seen in another array, which holds the same values."""
        shown = values.view()
        shown.flags.writeable = False
        self._columns[name] = shown

    def share_away(self, name: str, held: Packed, first: int) -> None:
        """Has a column be seen in what holds it packed, from one of its rows on.

        Whoever asks for it gets it unpacked anew.
        """
        self._columns[name] = _Away(held, first, first + len(self))

    def forget(self, names: Iterable[str]) -> None:
        """Lets go of columns: nobody may ask for them any more, nor for them of a row."""
        for name in names:
            self._columns.pop(name, None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Table:
        """All rows; numpy asks for them."""
        rows: Table = self[:]
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def copy(self) -> Table:
        """All rows."""
        rows: Table = self[:]
        return rows
