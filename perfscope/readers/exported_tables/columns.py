"""Columns of the tables of an export, from files of CSV or Parquet.

A column is an array: 64-bit integers with `MISSING` for what is not known, truth values, or places
in a list of texts, -1 for none.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.errors import UnreadableInputError
from perfscope.files import open_input
from perfscope.memory import rows_that_fit
from perfscope.output import csv_text
from perfscope.structures import dataclass
from perfscope.units import counted

MISSING = np.iinfo(np.int64).min
ACTION = "Copy the directory again, or export again: perfscope export TRACE --to csv"
NO_PYARROW = "pip install pyarrow where perfscope is, or export again: --to csv"
LONGEST_WHY = 200
BLOCK_ROWS = 1 << 14
ROW_BYTES = 2000
"""What a row of a file takes while it is read, and some room."""
_TRUTH = {"true": True, "false": False}


class Kind(Enum):
    """What a column holds, as `tables.json` calls it."""

    INTEGER = "int64"
    OPTIONAL = "Int64"
    FLAG = "bool"
    TEXT = "category"


@dataclass(frozen=True)
class Texts:
    """A column of text: places in a list of texts, -1 for none."""

    codes: Ints
    texts: Sequence[str]


Column: TypeAlias = npt.NDArray[Any] | Texts
Columns: TypeAlias = Mapping[str, Column]
Wanted: TypeAlias = Mapping[str, Kind]


def read_columns(path: Path, wanted: Wanted) -> Columns:
    """The columns of a file that are wanted.

    Raises:
        UnreadableInputError: it is not there, or damaged, or lacks one of them.
    """
    read = _of_parquet if path.suffix == ".parquet" else _of_csv
    try:
        return read(path, wanted)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, OverflowError, csv.Error, KeyError, StopIteration) as error:
        raise _unreadable(path, str(error) or "It is empty") from error


def _unreadable(path: Path, why: str) -> UnreadableInputError:
    """The error in the words of whoever found it, of which libraries use several lines."""
    shown = " ".join(why.split())[:LONGEST_WHY].rstrip(".")
    return UnreadableInputError(
        f"{path} cannot be read as a table of an export.",
        why=f"{shown or 'It is damaged'}.",
        action=ACTION,
    )


def refuse_too_many(path: Path, rows: int) -> None:
    """Fails where a table does not fit into memory.

    Raises:
        UnreadableInputError: it does not.
    """
    if rows > rows_that_fit(row_bytes=ROW_BYTES):
        raise UnreadableInputError(
            f"{path} is too large for the memory that is left.",
            why=f"It holds {counted(rows, 'row')}.",
            action="Read it where there is more memory.",
        )


def _of_csv(path: Path, wanted: Wanted) -> Columns:
    with io.TextIOWrapper(open_input(path), "utf-8", "replace", newline="") as stream:
        rows = csv.reader(stream)
        head = next(rows)
        places = {name: _place(head, name) for name in wanted}
        interned: dict[str, dict[str, int]] = {name: {} for name in wanted}
        parts: dict[str, list[Any]] = {name: [] for name in wanted}
        count = 0
        for block in _blocks(rows):
            count += len(block)
            refuse_too_many(path, count)
            cells = list(zip(*block, strict=True))
            if len(cells) != len(head):
                raise ValueError(f"Line {rows.line_num} has no cell for each column")
            for name, kind in wanted.items():
                parts[name].append(_values(cells[places[name]], kind, interned[name]))
    return {name: _whole(parts[name], kind, interned[name]) for name, kind in wanted.items()}


def _place(head: Sequence[str], name: str) -> int:
    if name not in head:
        raise ValueError(f"It has no column {name}")
    return head.index(name)


def _blocks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    while block := list(islice(rows, BLOCK_ROWS)):
        yield block


def _values(cells: Sequence[str], kind: Kind, known: dict[str, int]) -> npt.NDArray[Any]:
    if kind is Kind.TEXT:
        codes = (known.setdefault(cell, len(known)) if cell else -1 for cell in cells)
        return np.fromiter(codes, np.int64, len(cells))
    if kind is Kind.FLAG:
        return np.array([_TRUTH[cell] for cell in cells], np.bool_)
    return np.array([int(cell) if cell else MISSING for cell in cells], np.int64)


def _whole(parts: list[Any], kind: Kind, known: Mapping[str, int]) -> Column:
    dtype = np.bool_ if kind is Kind.FLAG else np.int64
    values = np.concatenate([np.empty(0, dtype), *parts])
    return Texts(values, [csv_text(cell) for cell in known]) if kind is Kind.TEXT else values


def _of_parquet(path: Path, wanted: Wanted) -> Columns:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to load
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        why = "Parquet is read with the Python package pyarrow, which is not installed."
        raise UnreadableInputError(
            f"{path} cannot be read here.", why=why, action=NO_PYARROW
        ) from error
    try:
        with open_input(path) as stream:
            file = pq.ParquetFile(stream)
            refuse_too_many(path, file.metadata.num_rows)
            for name in wanted:
                _place(file.schema_arrow.names, name)
            table = file.read(columns=list(wanted))
            return {name: _of_arrow(table.column(name), kind) for name, kind in wanted.items()}
    except pa.ArrowException as error:
        raise _unreadable(path, str(error)) from error


def _of_arrow(column: Any, kind: Kind) -> Column:
    if kind is Kind.TEXT:
        known: dict[str, int] = {}
        words = column.to_pylist()
        codes = [known.setdefault(str(word), len(known)) if word else -1 for word in words]
        return Texts(np.array(codes, np.int64), list(known))
    if kind is Kind.FLAG:
        return np.array(column.to_pylist(), np.bool_)
    values: Column = column.fill_null(int(MISSING)).cast("int64").to_numpy()
    return values
