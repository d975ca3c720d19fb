"""Trends over commits and dates, with their changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, mapping, number, rows, text
from perfscope.report.charts import Plot
from perfscope.report.charts_changes import Segment, trend
from perfscope.report.formats import PLAIN, Scale, byte_scale, quantity, seconds, time_scale
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import change
from perfscope.report.table import Column, Kind, Table

MOST_GROUPS = 6
BETTER = StatusWord("✓", "Better", "pass")
WORSE = StatusWord("✕", "Worse", "fail")


def _context(document: Document) -> Context:
    found = rows(document, "history", "groups")
    factor = number(mapping(document, "history").get("factor"))
    return {
        "groups": [_group(group, n) for n, group in enumerate(found[:MOST_GROUPS])],
        "left_out": max(len(found) - MOST_GROUPS, 0),
        "factor": "" if factor is None else f"{factor:g}",
    }


def _group(group: Mapping[str, Any], position: int) -> Context:
    points = rows(group, "points")
    series = rows(group, "series")
    drawn = [row for row in series if _known(row)]
    return {
        "label": text(group, "label"),
        "count": len(points),
        "first": text(points[0], "day") if points else "",
        "last": text(points[-1], "day") if points else "",
        "series": [
            {
                "id": f"trend-{position}-{number_of}",
                "label": _capital(text(row, "label")),
                "chart": _chart(row, len(points)),
                "better": "lower is better" if row.get("is_lower_better") else "higher is better",
                "changes": changes(row, points),
            }
            for number_of, row in enumerate(drawn)
        ],
        "losses": losses(group, f"losses-{position}"),
        "absent": [
            (_capital(text(row, "label")), text(row, "reason")) for row in series if not _known(row)
        ],
    }


def changes(row: Mapping[str, Any], points: list[Mapping[str, Any]]) -> list[Context]:
    """The changes of one quantity in words."""
    unit = text(row, "unit")
    found = []
    for item in rows(row, "changes"):
        at = int(number(item.get("at")) or 0)
        point = points[at] if 0 <= at < len(points) else {}
        found.append(
            {
                "label": text(point, "label"),
                "day": text(point, "day"),
                "change": change(number(item.get("ratio"))),
                "before": quantity(number(item.get("before")), unit),
                "after": quantity(number(item.get("after")), unit),
                "word": WORSE if item.get("is_worse") else BETTER,
                "p": f"{number(item.get('p')) or 0:.2g}",
            }
        )
    return found


def losses(group: Mapping[str, Any], identity: str = "losses") -> Table | None:
    """Training work and what the time was lost to, with the last change of each."""
    points, found = rows(group, "points"), rows(group, "losses")
    if not found:
        return None

    def last(row: Mapping[str, Any]) -> str:
        told = rows(row, "changes")
        if not told:
            return "no change"
        at = int(number(told[-1].get("at")) or 0)
        label = text(points[at], "label") if 0 <= at < len(points) else ""
        more = (number(told[-1].get("after")) or 0.0) - (number(told[-1].get("before")) or 0.0)
        return f"{'+' if more > 0 else '−'}{seconds(abs(more))} since {label}"

    columns = (
        Column("Training work, and lost to", "label", kind=Kind.TEXT, longest=60),
        Column("level now", _level, seconds),
        Column("last change", last, kind=Kind.TEXT, longest=60),
    )
    caption = f"What the time of a mean rank was lost to: {text(group, 'label')}"
    return Table(identity, caption, columns, found, file="study.json", has_caption=False)


def _level(row: Mapping[str, Any]) -> float | None:
    segments = rows(row, "segments")
    return number(segments[-1].get("level")) if segments else None


def _known(row: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Position from 1, and value, of the points that have one."""
    values = row.get("values")
    listed = values if isinstance(values, list) else []
    return [
        (position, value)
        for position, item in enumerate(listed, start=1)
        if (value := number(item)) is not None
    ]


def _chart(row: Mapping[str, Any], count: int) -> str:
    known, unit = _known(row), text(row, "unit")
    segments = [
        Segment(int(ends[0]) + 1, int(ends[1]) + 1, level)
        for item in rows(row, "segments")
        if (level := number(item.get("level"))) is not None
        and len(ends := integers({"e": [item.get("first"), item.get("last")]}, "e")) == 2
    ]
    plot = Plot(
        label=f"{text(row, 'label')} over {len(known)} points, {len(segments)} levels",
        y_title=unit if unit not in ("s", "B", "ratio") else "",
        y_scale=_scale(unit, max(value for _, value in known)),
        x_title="points in the order of their dates",
        from_zero=False,
        height=200.0,
    )
    return trend(plot, known, segments, count=count)


def _scale(unit: str, largest: float) -> Scale:
    if unit == "s":
        return time_scale(largest)
    return byte_scale(largest) if unit == "B" else PLAIN


def _capital(label: str) -> str:
    return f"{label[:1].upper()}{label[1:]}"


SECTION = StudySection(
    "trends", "Trends", "history_trends.html", _context, place=10, kinds=("history",)
)
