"""Quantities by rank as a table: a row for each rank, or for each quantile of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import MOST_RANKS_SHOWN

QUANTILES = (
    ("highest", 1.0),
    ("75th percentile", 0.75),
    ("median", 0.5),
    ("25th percentile", 0.25),
    ("lowest", 0.0),
)


@dataclass(frozen=True)
class ByRank:
    """One quantity by rank and how it is written."""

    title: str
    values: Sequence[float | None]
    write: Callable[[float | None], str]


def rank_table(id_: str, caption: str, ranks: Sequence[int], columns: Sequence[ByRank]) -> Table:
    """The quantities by rank; above `MOST_RANKS_SHOWN` ranks their extremes and quartiles."""
    is_summary = len(ranks) > MOST_RANKS_SHOWN
    head = Column("Over the ranks" if is_summary else "Rank", 0, kind=Kind.TEXT)
    held = (
        [
            (name, *(_quantile(ranks, column, share) for column in columns))
            for name, share in QUANTILES
        ]
        if is_summary
        else [
            (f"rank {rank}", *(_value(column, n) for column in columns))
            for n, rank in enumerate(ranks)
        ]
    )
    how = "lowest to highest over all ranks" if is_summary else "by rank"
    titles = (Column(column.title, n) for n, column in enumerate(columns, start=1))
    return Table(id_, f"{caption}, {how}", (head, *titles), held)


def _value(column: ByRank, place: int) -> str:
    return column.write(column.values[place] if place < len(column.values) else None)


def _quantile(ranks: Sequence[int], column: ByRank, share: float) -> str:
    known = sorted((v, r) for v, r in zip(column.values, ranks, strict=False) if v is not None)
    if not known:
        return column.write(None)
    value, rank = known[round(share * (len(known) - 1))]
    written = column.write(value)
    is_extreme = share in (0.0, 1.0) and known[0][0] != known[-1][0]
    return f"{written} (rank {rank})" if is_extreme else written
