"""How a table is declared, and what its columns are made of while they are on their way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.dataframes.source import Source
from perfscope.structures import dataclass

BLOCK_ROWS = 1 << 16
"""Rows that are made at once: what bounds the memory of an export."""


class Kind(Enum):
    """What a column holds; the value is the dtype that it has in a DataFrame."""

    INTEGER = "int64"
    OPTIONAL = "Int64"  # an integer that may be missing
    NUMBER = "float64"
    FLAG = "bool"
    TEXT = "category"


@dataclass(frozen=True)
class Column:
    """One column: its name, what it holds, its unit, and what it means."""

    name: str
    kind: Kind
    unit: str
    doc: str


@dataclass(frozen=True)
class Texts:
    """A column of text: indices in a list of texts, -1 for none."""

    codes: npt.NDArray[np.integer]
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Maybe:
    """A column of integers of which some are not known."""

    values: npt.NDArray[np.integer]
    known: Bools

    def __len__(self) -> int:
        return len(self.values)


Values: TypeAlias = npt.NDArray[np.generic] | Texts | Maybe
Block: TypeAlias = Mapping[str, Values]


@dataclass(frozen=True)
class TableSpec:
    """A table: declared once, for DataFrames, exports and documentation alike."""

    name: str  # of the method and of the exported file
    summary: str  # what one row is
    columns: tuple[Column, ...]  # in order
    # the rows, at most about BLOCK_ROWS at once; every block has every column. The texts of a
    # column are one list in all blocks
    blocks: Callable[[Source], Iterator[Block]]
    reason: Callable[[Source], str]  # why the table of a trace has no rows

    def text(self) -> str:
        """The columns for people who read a docstring."""
        lines = [self.summary, "", "Columns (dtype, unit):"]
        for column in self.columns:
            unit = f", {column.unit}" if column.unit else ""
            lines.append(f"    {column.name} ({column.kind.value}{unit}): {column.doc}")
        return "\n".join(lines)


def integer(name: str, doc: str, unit: str = "") -> Column:
    """A column of integers."""
    return Column(name, Kind.INTEGER, unit, doc)


def optional(name: str, doc: str, unit: str = "") -> Column:
    """A column of integers that may be missing."""
    return Column(name, Kind.OPTIONAL, unit, doc)


def number(name: str, doc: str, unit: str = "") -> Column:
    """A column of floating-point numbers."""
    return Column(name, Kind.NUMBER, unit, doc)


def flag(name: str, doc: str) -> Column:
    """A column of truth values."""
    return Column(name, Kind.FLAG, "", doc)


def text(name: str, doc: str) -> Column:
    """A column of words that recur."""
    return Column(name, Kind.TEXT, "", doc)


RANK = integer("rank", "number of the rank in the job")
TID = integer("tid", "thread, as the operating system numbers it")


def instant(name: str, doc: str) -> Column:
    """A moment: nanoseconds since the trace's origin, on one clock for all ranks."""
    return Column(name, Kind.INTEGER, "ns", doc)


def span(doc: str) -> tuple[Column, Column, Column]:
    """Start, end and length of something."""
    return (
        instant("t0_ns", f"start of {doc}"),
        instant("t1_ns", f"end of {doc}"),
        integer("duration_ns", "t1_ns - t0_ns", "ns"),
    )


def pieces(length: int) -> Iterator[slice]:
    """Slices of at most BLOCK_ROWS that cover `length` rows."""
    for start in range(0, length, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, length))


def constant(value: int, length: int) -> Ints:
    """A column of one value."""
    return np.full(length, value, np.int64)


def where_known(values: npt.NDArray[np.integer], known: Bools | None = None) -> Maybe:
    """Integers of which some are missing: by default those below zero."""
    return Maybe(values, values >= 0 if known is None else known)


def maybe(values: Sequence[int | None]) -> Maybe:
    """Integers of which those that are None are missing."""
    known = np.array([value is not None for value in values], np.bool_)
    return Maybe(np.array([value or 0 for value in values], np.int64), known)


def never(length: int) -> Maybe:
    """A column of integers none of which is known."""
    return Maybe(np.zeros(length, np.int64), np.zeros(length, np.bool_))


class Interner:
    """Gives texts their indices; one for each column of text."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index: dict[str, int] = {}

    def code(self, word: str) -> int:
        """The index of a text."""
        if word not in self._index:
            self._index[word] = len(self.texts)
            self.texts.append(word)
        return self._index[word]

    def codes(self, words: Sequence[str]) -> npt.NDArray[np.int32]:
        """The indices of texts."""
        return np.array([self.code(word) for word in words], np.int32).reshape(len(words))

    def column(self, words: Sequence[str]) -> Texts:
        """A column of these texts."""
        return Texts(self.codes(words), self.texts)

    def same(self, word: str, length: int) -> Texts:
        """A column of one text."""
        return Texts(np.full(length, self.code(word), np.int32), self.texts)
