"""Amdahl's law and performance models, with what they foretell and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, number, percent, seconds, time_scale
from perfscope.report.studies.access import Document, mapping, numbers, rows, text, texts
from perfscope.report.studies.curves import DASHED, Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import size_label

MOST_ALTERNATIVES = 6
DOTTED = "2 3.5"  # seen between the dashes of a model of the same law


def _context(document: Document) -> Context:
    found = mapping(document, "scaling")
    parts = rows(found, "parts")
    whole = parts[0] if parts else {}
    law = mapping(whole, "amdahl")
    interval = numbers(law, "serial_interval")
    most, at_least = number(law.get("most_speedup")), number(law.get("most_speedup_at_least"))
    return {
        "amdahl_reason": text(law, "reason"),
        "serial": percent(number(law.get("value"))),
        "serial_interval": " to ".join(percent(v) for v in interval) if len(interval) == 2 else "",
        "most": decimal(most) if most is not None else "",
        "at_least": decimal(at_least) if at_least is not None else "",
        "reference": size_label(found, _first_size(found)),
        "forecasts": [_forecast(found, row) for row in rows(law, "forecasts")],
        "chart": _chart(found, whole),
        "models": [_model(found, part) for part in parts],
        "model_reasons": sorted({text(part, "model", "reason") for part in parts} - {""}),
        "extra_p_reasons": sorted({text(part, "extra_p", "reason") for part in parts} - {""}),
        "has_models": any(text(part, "model", "value") for part in parts),
    }


def _first_size(found: Mapping[str, Any]) -> float | None:
    points = rows(found, "points")
    return number(points[0].get("size")) if points else None


def _forecast(found: Mapping[str, Any], row: Mapping[str, Any]) -> Context:
    interval = numbers(row, "interval")
    return {
        "size": size_label(found, number(row.get("size"))),
        "value": seconds(number(row.get("value"))),
        "interval": " to ".join(map(seconds, interval)) if len(interval) == 2 else "",
    }


def _model(found: Mapping[str, Any], part: Mapping[str, Any]) -> Context:
    own = mapping(part, "model")
    others = texts(own, "alternatives")
    shown = ", ".join(others[:MOST_ALTERNATIVES])
    if len(others) > MOST_ALTERNATIVES:
        shown += f" and {len(others) - MOST_ALTERNATIVES} more"
    return {
        "label": text(part, "label"),
        "text": text(own, "value"),
        "reason": text(own, "reason"),
        "error": percent(number(own.get("cross_validation_error"))),
        "alternatives": shown,
        "forecasts": [_forecast(found, row) for row in rows(own, "forecasts")],
        "extra_p": text(part, "extra_p", "value"),
        "extra_p_forecasts": [_forecast(found, row) for row in rows(part, "extra_p", "forecasts")],
    }


def _chart(found: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Run time as measured, and as each law continues it."""
    points = rows(found, "points")
    sizes = numbers({"x": [point.get("size") for point in points]}, "x")
    times = numbers({"y": [mapping(point, "time_s").get("median") for point in points]}, "y")
    law, own = mapping(whole, "amdahl"), mapping(whole, "model")
    drawn: list[Curve] = []
    if not sizes or len(times) != len(sizes):
        return ""
    for label, role, dashes, forecasts, fitted in (
        ("Amdahl’s law", "series-2", DOTTED, rows(law, "forecasts"), _amdahl_values(law, sizes)),
        ("model", "series-3", DASHED, rows(own, "forecasts"), numbers(own, "fitted")),
    ):
        told_x, told_y = (_column(forecasts, name) for name in ("size", "value"))
        if told_x and len(told_x) == len(told_y) and len(fitted) == len(sizes):
            x, y = [*sizes, *told_x], [*fitted, *told_y]
            drawn.append(Curve(label, role, x, y, is_measured=False, dashes=dashes))
            drawn += _bounds(role, forecasts)
    if not drawn:
        return ""
    drawn.insert(0, Curve("measured", "series-1", sizes, times))
    plot = Plot(
        "Run time as measured and as the laws continue it",
        "Run time",
        y_scale=time_scale(max(times)),
        x_title=text(found, "axis_many"),
        height=260.0,
    )
    ticks = sorted({x for curve in drawn for x in curve.x})
    return curves(plot, drawn, sizes=ticks, measured_until=sizes[-1])


def _bounds(role: str, forecasts: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """The intervals of a law's extrapolations as strokes through its line."""
    x, y = _column(forecasts, "size"), _column(forecasts, "value")
    intervals = [numbers(row, "interval") for row in forecasts]
    if not all(len(found) == 2 for found in intervals):
        return []
    spread = [(found[0], found[1]) for found in intervals]
    return [Curve("", role, x, y, spread, is_measured=False)]


def _column(forecasts: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """One number of each extrapolation; empty where one is missing."""
    return numbers({"column": [row.get(name) for row in forecasts]}, "column")


def _amdahl_values(law: Mapping[str, Any], sizes: Sequence[float]) -> list[float]:
    constant, parallel = number(law.get("constant_s")), number(law.get("parallel_s"))
    if constant is None or parallel is None or not sizes:
        return []
    return [constant + parallel * sizes[0] / size for size in sizes]


SECTION = StudySection(
    "laws", "Laws and extrapolation", "scaling_laws.html", _context, place=50, kinds=("scaling",)
)
