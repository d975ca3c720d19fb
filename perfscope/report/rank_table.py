"""Quantities by rank as a table: a row for each rank; of many, quantiles and outliers."""

from collections.abc import Callable, Sequence

from perfscope.report.table import Column, Kind, Note, Table
from perfscope.structures import dataclass

MOST_RANKS = 16
"""Of more ranks the quantiles are shown, and those ranks that are far from them."""
MOST_OUTLIERS = 8
FENCE, LEAST_SHARE = 3.0, 0.1
"""An outlier is this many interquartile ranges beyond a quartile (Tukey's outer fence), and this
share of the median away from it."""
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


@dataclass(frozen=True)
class Row:
    """What one rank has of each quantity, or what ranks some share of the way up have of it."""

    head: str  # which rank, or which share
    values: Sequence[float | None]  # of each quantity
    ranks: Sequence[str]  # whose they are where that says something, else ""


def rank_table(id_: str, caption: str, ranks: Sequence[int], columns: Sequence[ByRank]) -> Table:
    """The quantities by rank; above `MOST_RANKS` ranks their quantiles and outliers."""
    if len(ranks) <= MOST_RANKS:
        head, how = "Rank", "by rank"
        rows = [_of_rank(place, rank, columns) for place, rank in enumerate(ranks)]
    else:
        head, how = "Over the ranks", f"lowest to highest over all {len(ranks):,} ranks"
        rows = [_quantile(name, share, ranks, columns) for name, share in QUANTILES]
        far = [_of_rank(place, ranks[place], columns) for place in _outliers(len(ranks), columns)]
        how += ", and ranks far from the others" if far else ""
        rows += far
    first = Column(head, "head", kind=Kind.TEXT)
    return Table(
        id_, f"{caption}, {how}", (first, *map(_column, range(len(columns)), columns)), rows
    )


def _column(place: int, quantity: ByRank) -> Column:
    whose = Note(lambda row: row.ranks[place], is_below=False, is_everywhere=True)
    return Column(quantity.title, lambda row: row.values[place], quantity.write, note=whose)


def _of_rank(place: int, rank: int, columns: Sequence[ByRank]) -> Row:
    values = [one.values[place] if place < len(one.values) else None for one in columns]
    return Row(f"rank {rank}", values, [""] * len(columns))


def _quantile(name: str, share: float, ranks: Sequence[int], columns: Sequence[ByRank]) -> Row:
    """The value some share of the way from the least to the most of each quantity."""
    values: list[float | None] = []
    whose = []
    for column in columns:
        known = sorted((v, r) for v, r in zip(column.values, ranks, strict=False) if v is not None)
        value, rank = known[round(share * (len(known) - 1))] if known else (None, None)
        is_extreme = bool(known) and share in (0.0, 1.0) and known[0][0] != known[-1][0]
        values.append(value)
        whose.append(f"rank {rank}" if is_extreme else "")
    return Row(name, values, whose)


def _outliers(count: int, columns: Sequence[ByRank]) -> list[int]:
    """Places of the ranks that lie farthest from the others in any quantity, in their order."""
    distance: dict[int, float] = {}
    for column in columns:
        known = sorted(value for value in column.values[:count] if value is not None)
        if not known:
            continue
        low, middle, high = (known[round(part * (len(known) - 1))] for part in (0.25, 0.5, 0.75))
        for place, value in enumerate(column.values[:count]):
            if value is None:
                continue
            beyond = max(low - value, value - high) - FENCE * (high - low)
            if beyond > 0 and abs(value - middle) > LEAST_SHARE * abs(middle):
                scale = max(abs(middle), high - low) or 1.0
                distance[place] = max(distance.get(place, 0.0), beyond / scale)
    return sorted(sorted(distance, key=lambda place: -distance[place])[:MOST_OUTLIERS])
