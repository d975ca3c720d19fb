"""Turns tables into pandas DataFrames; the only place that loads pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools
from perfscope.dataframes.columns import Block, Column, Kind, Maybe, TableSpec, Texts, Values

if TYPE_CHECKING:
    import pandas as pd

    from perfscope.dataframes.source import Source

Chooser = Callable[[Block], Bools]


def frame_of(table: TableSpec, source: Source, chosen: Chooser | None = None) -> pd.DataFrame:
    """A table as a DataFrame; `attrs` has the units and, where it is empty, the reason.

    `chosen` says which rows of a block to keep; None keeps all.
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a table is asked for

    blocks = [_kept(block, chosen) for block in table.blocks(source)]
    columns = {
        column.name: _series(column, [block[column.name] for block in blocks])
        for column in table.columns
    }
    frame = pd.DataFrame(columns, columns=[column.name for column in table.columns], copy=False)
    frame.attrs["units"] = {column.name: column.unit for column in table.columns if column.unit}
    if not blocks:
        frame.attrs["reason"] = table.reason(source)
    return frame


def _kept(block: Block, chosen: Chooser | None) -> Block:
    if chosen is None:
        return block
    rows = chosen(block)
    return {name: _rows(values, rows) for name, values in block.items()}


def _rows(values: Values, rows: Bools) -> Values:
    if isinstance(values, Texts):
        return Texts(values.codes[rows], values.texts)
    if isinstance(values, Maybe):
        return Maybe(values.values[rows], values.known[rows])
    return values[rows]


def _series(column: Column, parts: Iterable[Values]) -> Any:
    import pandas as pd  # noqa: PLC0415 - see frame_of

    known = list(parts)
    if column.kind is Kind.TEXT:
        texts = known[0].texts if known and isinstance(known[0], Texts) else ()
        codes = _joined([part.codes for part in known if isinstance(part, Texts)], np.int32)
        return _categories(codes, list(texts))
    if column.kind is Kind.OPTIONAL:
        maybe = [part for part in known if isinstance(part, Maybe)]
        values = _joined([part.values for part in maybe], np.int64)
        mask = ~_joined([part.known for part in maybe], np.bool_)
        values[mask] = 0
        return pd.arrays.IntegerArray(values, mask)
    dtype = np.dtype(column.kind.value)
    return _joined([part for part in known if isinstance(part, np.ndarray)], dtype)


def _joined(parts: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    if not parts:
        return np.empty(0, dtype)
    return np.concatenate(parts).astype(dtype, copy=False)


def _categories(codes: npt.NDArray[np.int32], texts: list[str]) -> Any:
    """Only the texts that occur are categories, in order of their first row's index."""
    import pandas as pd  # noqa: PLC0415 - see frame_of

    used = np.unique(codes[codes >= 0])
    words: Mapping[str, int] = {}
    words = dict.fromkeys(texts[code] for code in used.tolist())  # type: ignore[assignment]
    index = {word: place for place, word in enumerate(words)}
    table = np.full(len(texts) + 1, -1, np.int64)
    table[used] = [index[texts[code]] for code in used.tolist()]
    return pd.Categorical.from_codes(table[codes], categories=pd.Index(list(words), dtype=object))
