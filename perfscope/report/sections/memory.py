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
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import ByRank, place, rank_list, rank_table

MOST_NODES = 64


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
        "memory",
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
    return {
        "reason": text(document, "memory", "reason"),
        "chart": lines(plot, series) if series else "",
        "is_banded": len(series) > MOST_LINES,
        "takeaway": _takeaway(ranks),
        "table": rank_table([int(number(r.get("rank")) or 0) for r in ranks], columns),
        "nodes": [_node(row) for row in nodes[:MOST_NODES]],
        "nodes_left_out": max(len(nodes) - MOST_NODES, 0),
        "watched": [_watched(row) for row in rows(document, "memory", "lines", "ranks")],
        "lines_reason": text(document, "memory", "lines", "reason"),
    }


def _watched(row: Mapping[str, Any]) -> Context:
    """The lines of one rank that kept memory."""
    window = numbers(row, "window_s")
    length = window[1] - window[0] if len(window) == 2 else 0.0
    return {
        "rank": rank_name(row),
        "engine": text(row, "engine"),
        "reason": text(row, "reason"),
        "begin": seconds(window[0]) if length > 0 else "",
        "length": seconds(length),
        "kept": bytes_(number(row.get("kept_bytes"))),
        "is_whole_life": row.get("is_whole_life") is True,
        "lines": [
            {
                "place": place(line),
                "kept": bytes_(number(line.get("kept_bytes"))),
                "count": count(number(line.get("count"))),
                "allocator": place(mapping(line, "allocator")),
            }
            for line in rows(row, "lines")
        ],
    }


def _node(row: Mapping[str, Any]) -> Context:
    return {
        "host": text(row, "host"),
        "ranks": rank_list(integers(row, "ranks")),
        "total": bytes_(number(row.get("total_bytes"))),
        "available": bytes_(number(row.get("least_available_bytes"))),
        "oom_kills": count(number(row.get("oom_kills"))),
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


SECTION = Section("memory", "Memory", "memory.html", _context)
