"""Memory: what each rank held over time, and how much its node had left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import (
    Document,
    integers,
    mapping,
    number,
    numbers,
    rank_name,
    rows,
    text,
)
from perfscope.report.charts import MOST_LINES, Line, Plot, lines
from perfscope.report.formats import byte_scale, bytes_, bytes_rate, count, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import place, rank_list

MOST_NODES = 64
NODES = (
    Column("Node", "host", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda row: rank_list(integers(row, "ranks")), kind=Kind.TEXT, longest=200),
    Column("In all", "total_bytes", bytes_),
    Column("Least available", "least_available_bytes", bytes_),
    Column("Processes killed for memory", "oom_kills", count),
)
LINES = (
    Column("Line", place, kind=Kind.PLACE),
    Column("Kept", "kept_bytes", bytes_),
    Column("Allocations", "count", count),
    Column(
        "Allocated in",
        lambda row: place(found) if (found := mapping(row, "allocator")).get("file") else None,
        kind=Kind.PLACE,
        absent="the line itself",
    ),
)
ABSENT = "the sampler was off (--sample-hz 0) or the run was shorter than one sample"


def rank_lines(ranks: list[Mapping[str, Any]], key: str) -> list[Line]:
    """One line for each rank that has at least two points of the series under `key`."""
    out = []
    for row in ranks:
        x, y = numbers(row, key, "seconds"), numbers(row, key, "values")
        if len(x) == len(y) > 1:
            out.append(Line(rank_name(row), x, y))
    return out


def _context(document: Document) -> Context:
    ranks = rows(document, "memory", "ranks")
    series = rank_lines(ranks, "series")
    plot = Plot(
        "Resident memory of each rank over time",
        "resident memory",
        byte_scale(max((y for line in series for y in line.y), default=0.0)),
    )

    def column(title: str, key: str, write: Any = bytes_) -> ByRank:
        return ByRank(title, [number(row.get(key)) for row in ranks], write)

    columns = [
        column("Peak", "peak_bytes"),
        column("Early", "start_bytes"),
        column("Late", "end_bytes"),
        column("Growth in the second half", "slope_bytes_per_s", bytes_rate),
        column("Proportional, with descendants", "tree_bytes"),
        column("Limit", "limit_bytes"),
    ]
    nodes = rows(document, "memory", "nodes")
    watched = [
        _watched(place_, row)
        for place_, row in enumerate(rows(document, "memory", "lines", "ranks"), start=1)
    ]
    return {
        "absent": "" if ranks or nodes or watched else text(document, "memory", "reason") or ABSENT,
        "chart": lines(plot, series) if series else "",
        "is_banded": len(series) > MOST_LINES,
        "takeaway": _takeaway(ranks),
        "table": rank_table(
            "memory-by-rank",
            "Resident memory",
            [int(number(r.get("rank")) or 0) for r in ranks],
            columns,
        ),
        "nodes": Table("memory-nodes", "Memory of each node", NODES, nodes, MOST_NODES, "nodes"),
        "watched": watched,
        "lines_reason": text(document, "memory", "lines", "reason"),
    }


def _watched(position: int, row: Mapping[str, Any]) -> Context:
    """The lines of one rank that kept memory."""
    window = numbers(row, "window_s")
    length = window[1] - window[0] if len(window) == 2 else 0.0
    kept = bytes_(number(row.get("kept_bytes")))
    begin = seconds(window[0]) if length > 0 else ""
    caption = (
        f"Allocated and not given back on {rank_name(row)} in {seconds(length)}, "
        f"from {begin} on: {kept} in all"
    )
    return {
        "rank": rank_name(row),
        "engine": text(row, "engine"),
        "reason": text(row, "reason"),
        "is_whole_life": row.get("is_whole_life") is True,
        "lines": Table(f"memory-lines-{position}", caption, LINES, rows(row, "lines")),
    }


def _takeaway(ranks: list[Mapping[str, Any]]) -> str:
    peaks = [
        (peak, rank_name(row))
        for row in ranks
        if (peak := number(row.get("peak_bytes"))) is not None
    ]
    if not peaks:
        return ""
    peak, rank = max(peaks, key=lambda pair: pair[0])
    return f"The largest peak is {bytes_(peak)}, on {rank}"


SECTION = Section("memory", "Memory", "memory.html", _context, is_folded=True)
