"""Run time and throughput over the size of the job, against ideal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, number, ratio, seconds
from perfscope.report.labels import band
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.access import Document, mapping, numbers, rows, text, texts
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection

MOST_EXTERNAL = 5


def _context(document: Document) -> Context:
    found = mapping(document, "scaling")
    points = rows(found, "points")
    return {
        "axis": text(found, "axis_one"),
        "axis_reason": text(found, "axis_reason"),
        "growth": text(found, "growth", "sentence"),
        "is_weak": text(found, "growth", "kind") == "weak",
        "chart": _chart(found, points),
        "rows": [_row(found, point) for point in points],
        "no_throughput": next(
            (reason for p in points if (reason := text(p, "samples_per_s_reason"))), ""
        ),
        "superlinear": [text(row, "sentence") for row in rows(found, "superlinear")],
        "external": [
            f"{text(row, 'label')} ({text(row, 'file')})" for row in rows(found, "external")
        ],
        "notes": texts(found, "notes"),
    }


def size_label(found: Mapping[str, Any], size: float | None) -> str:
    """A size with its word: `1 rank`, `4 ranks`."""
    if size is None:
        return ""
    word = text(found, "axis_one") if size == 1 else text(found, "axis_many")
    return f"{size:,.6g} {word}"


def _row(found: Mapping[str, Any], point: Mapping[str, Any]) -> Context:
    efficiency = number(point.get("efficiency"))
    rate = number(point.get("throughput_efficiency"))
    return {
        "label": size_label(found, number(point.get("size"))),
        "runs": len(texts(point, "runs")),
        "time": _spread(point, "time_s", seconds),
        "speedup": decimal(number(point.get("speedup"))),
        "ideal": decimal(number(point.get("ideal_speedup"))),
        "efficiency": ratio(efficiency),
        "band": band(efficiency),
        "rate": _spread(point, "samples_per_s", decimal),
        "rate_speedup": decimal(number(point.get("throughput_speedup"))),
        "rate_efficiency": ratio(rate),
        "rate_band": band(rate) if rate is not None else None,
    }


def _spread(point: Mapping[str, Any], name: str, write: Any) -> Context:
    found = mapping(point, name)
    low, high = number(found.get("low")), number(found.get("high"))
    has_range = (number(found.get("count")) or 0) > 1
    return {
        "value": write(number(found.get("median"))),
        "range": f"{write(low)} to {write(high)}" if has_range else "",
    }


def _chart(found: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    sizes = numbers({"x": [point.get("size") for point in points]}, "x")
    if len(sizes) < 2:
        return ""
    ideal = numbers({"y": [point.get("ideal_speedup") for point in points]}, "y")
    drawn = [Curve("ideal", "muted", sizes, ideal, is_measured=False)] if ideal else []
    # dashes let a line be seen through another one on it
    for name, label, role, dashes in (
        ("speedup", "run time", "series-1", ""),
        ("throughput_speedup", "samples/s", "series-2", "11 11"),
    ):
        values = [number(point.get(name)) for point in points]
        known = [(x, y) for x, y in zip(sizes, values, strict=True) if y is not None]
        if known:
            x, y = [x for x, _ in known], [y for _, y in known]
            drawn.append(Curve(label, role, x, y, dashes=dashes))
    drawn += _external(found)
    plot = Plot(
        "Speed-up of run time and throughput over size, beside the ideal line",
        "Speed-up",
        x_title=text(found, "axis_many"),
        height=260.0,
    )
    return curves(plot, drawn, sizes=sizes)


def _external(found: Mapping[str, Any]) -> list[Curve]:
    """Series of others; dots too, because somebody measured them."""
    drawn = []
    for position, row in enumerate(rows(found, "external")[:MOST_EXTERNAL]):
        values = row.get("speedup")
        pairs = zip(numbers(row, "sizes"), values if isinstance(values, list) else [], strict=False)
        known = [(x, y) for x, value in pairs if (y := number(value)) is not None]
        if known:
            role = SERIES_ROLES[(position + 2) % len(SERIES_ROLES)]
            drawn.append(
                Curve(text(row, "label"), role, [x for x, _ in known], [y for _, y in known])
            )
    return drawn


SECTION = StudySection(
    "speedup", "Speed-up", "scaling_speedup.html", _context, place=10, kinds=("scaling",)
)
