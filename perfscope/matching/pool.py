"""All operations of all ranks in one set of columns, for matching across ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, SmallCodes, blocks, narrowest, taken
from perfscope.engine import engine
from perfscope.matching.intervals import Times
from perfscope.packed import PutsAway
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.columns import Columns
from perfscope.trace.model import OPERATION_DTYPE, Rank, Table
from perfscope.trace.operations import OperationClass, codes_mask

Rows = Ints
"""Places of operations in a pool."""


@dataclass(frozen=True)
class Pool(PutsAway):
    """One row per operation, rank after rank; `rank` is a position in `Trace.ranks`."""

    rank: SmallCodes
    enter: Times
    exit: Times
    op: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint16]
    tid: npt.NDArray[np.uint32]
    comm: SmallCodes
    seq: Ints
    peer: SmallCodes  # position in Trace.ranks; -1 none, unknown, or not recorded
    peer_number: SmallCodes  # world rank or PEER_*
    tag: SmallCodes
    sent: Ints
    received: Ints
    request: Ints
    offsets: Ints  # (ranks + 1,) where each rank's rows begin
    numbers: Ints  # (ranks,) world rank of each position

    @classmethod
    def of(cls, ranks: Sequence[Rank], tables: Sequence[Table], *, is_narrow: bool = False) -> Pool:
        """Puts one table per rank together.

        Tables whose columns lie apart see them in the pool from then on: a long run has room for
        them but once. Where all do, `is_narrow` has columns of small numbers take as few bytes as
        these need.
        """
        offsets = np.cumsum([0, *(len(table) for table in tables)])
        places = [slice(*edges) for edges in itertools.pairwise(offsets.tolist())]
        shown: Sequence[object] = tables
        parts = list(zip(shown, places, strict=True))
        columns = _copied([part for part in parts if not isinstance(part[0], Columns)], offsets)
        is_narrow = is_narrow and len(tables) > 0 and not columns
        for target, source in _COLUMNS:
            kind = OPERATION_DTYPE[source]
            if is_narrow and target in NARROWER:
                kind = narrowest([table[source] for table in tables])
            whole = columns.setdefault(target, np.empty(int(offsets[-1]), kind))
            for table, rows in parts:
                if isinstance(table, Columns):
                    whole[rows] = table[source]
                    table.share(source, whole[rows])
        numbers = np.array([rank.number for rank in ranks], np.int64)
        held = narrowest([np.arange(len(ranks))]) if is_narrow else np.dtype(np.int32)
        columns["peer"] = _positions(columns["peer_number"], numbers, held)
        return cls(
            numbers=numbers,
            rank=np.repeat(np.arange(len(ranks), dtype=held), np.diff(offsets)),
            offsets=offsets.astype(np.int64),
            **columns,
        )

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def is_of(self, *classes: OperationClass, rows: Rows | slice | None = None) -> Bools:
        """Which rows, all or these, are of one of the classes."""
        return of_codes(codes_mask(classes), self.op if rows is None else self.op[rows])

    def by_rank(self, rows: Rows) -> list[Rows]:
        """Ascending rows in parts, one for each position in `Trace.ranks`."""
        return np.split(rows, np.searchsorted(rows, self.offsets[1:-1]))


def places_by_rank(rank: Rows, ranks: int) -> list[Rows]:
    """The places at which each position in `Trace.ranks` stands, ascending; `ranks` parts."""
    order, starts = engine.grouped(np.ascontiguousarray(rank, np.int64), ranks)
    return np.split(order, starts[1:-1])


_COLUMNS = (
    ("enter", "t0"),
    ("exit", "t1"),
    ("op", "op"),
    ("flags", "flags"),
    ("tid", "tid"),
    ("comm", "comm"),
    ("seq", "seq"),
    ("peer_number", "peer"),
    ("tag", "tag"),
    ("sent", "sent"),
    ("received", "received"),
    ("request", "request"),
)


_AS_THEY_ARE = ("enter", "exit", "op", "flags", "tid")
NARROWER = {target: source for target, source in _COLUMNS if target not in _AS_THEY_ARE}
"""Columns of the pool whose numbers are mostly small, and what those of operations are called."""


def _copied(parts: Sequence[tuple[Any, slice]], offsets: Ints) -> dict[str, Any]:
    """All columns with the rows of tables, each table in its place; none without tables.

    The rows of a table are read one table after the other: each fits a processor's cache, and is
    read once for all columns.
    """
    if not parts:
        return {}
    rows = int(offsets[-1])
    columns = {target: np.empty(rows, OPERATION_DTYPE[source]) for target, source in _COLUMNS}
    for table, own in parts:
        for target, source in _COLUMNS:
            columns[target][own] = table[source]
    return columns


def _positions(peers: SmallCodes, numbers: Ints, held: np.dtype[Any]) -> SmallCodes:
    """Positions in the list of recorded ranks for world ranks, in a type that has room for them."""
    if not len(numbers):
        return np.full(len(peers), -1, held)
    table = np.full(int(numbers.max()) + 3, -1, held)  # before the first and behind the last
    table[numbers + 1] = np.arange(len(numbers))
    return taken(table, np.clip(peers.astype(np.int32, copy=False), -1, len(table) - 2) + 1)


def dense(*columns: npt.NDArray[np.integer]) -> Ints:
    """One number per distinct row of the columns, in the order of the rows' values."""
    rows = len(columns[0])
    result = np.zeros(rows, np.int64)
    spans = [(int(one.min()), int(one.max())) for one in columns] if rows else []
    if math.prod(high - low + 1 for low, high in spans) <= MOST_SPREAD * rows + 1000:
        for here in blocks(rows):
            code = result[here]
            for column, (low, high) in zip(columns, spans, strict=False):
                if high > low:
                    code *= high - low + 1
                    code += column[here].astype(np.int64) - low
        return _ranked(result)[0]
    for column in columns:
        index, distinct_values = _ranked(column)
        if distinct_values > 1:
            result, _ = _ranked(result * distinct_values + index)
    return result


MOST_SPREAD = 4
"""Values that spread over this many times their number are placed by a table, others sorted."""


def _ranked(column: npt.NDArray[np.integer]) -> tuple[Ints, int]:
    """The place of each value among the distinct values, and the number of these."""
    if not len(column):
        return np.empty(0, np.int64), 0
    known = engine.ranked(np.ascontiguousarray(column, np.int64), MOST_SPREAD)
    if known is not None:
        return known
    values, index = np.unique(column, return_inverse=True)
    return index.reshape(-1).astype(np.int64), len(values)
