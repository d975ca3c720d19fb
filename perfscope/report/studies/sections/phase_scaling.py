"""Time, speed-up and efficiency of each phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, number, ratio, seconds, time_scale
from perfscope.report.labels import band
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.access import Document, integers, mapping, numbers, rows, text
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import size_label

MOST_CURVES = 6


def _context(document: Document) -> Context:
    found = mapping(document, "scaling")
    sizes = numbers({"x": [point.get("size") for point in rows(found, "points")]}, "x")
    parts = rows(found, "parts")
    return {
        "sizes": [size_label(found, size) for size in sizes],
        "parts": [_part(part) for part in parts],
        "chart": _chart(found, sizes, parts) if len(sizes) > 1 else "",
    }


def _part(part: Mapping[str, Any]) -> Context:
    times, speedups, efficiencies = (_list(part, n) for n in ("time_s", "speedup", "efficiency"))
    ranks = integers(part, "ranks")
    cells = []
    for place, time in enumerate(times):
        efficiency = number(efficiencies[place]) if place < len(efficiencies) else None
        cells.append(
            {
                "time": seconds(number(mapping({"t": time}, "t").get("median"))),
                "speedup": decimal(number(speedups[place]) if place < len(speedups) else None),
                "efficiency": ratio(efficiency),
                "band": band(efficiency) if efficiency is not None else None,
            }
        )
    entered = sorted(set(ranks))
    return {
        "label": text(part, "label"),
        "note": f"on {ranks[-1]} {'rank' if ranks[-1] == 1 else 'ranks'} alone"
        if len(entered) == 1 and len(ranks) > 1
        else "",
        "cells": cells,
    }


def _list(part: Mapping[str, Any], name: str) -> list[Any]:
    found = part.get(name)
    return found if isinstance(found, list) else []


def _chart(
    found: Mapping[str, Any], sizes: Sequence[float], parts: Sequence[Mapping[str, Any]]
) -> str:
    """Seconds of the parts that take most at any size."""
    drawn: list[tuple[float, Curve]] = []
    for part in parts:
        medians = [number(mapping({"t": t}, "t").get("median")) for t in _list(part, "time_s")]
        known = [(x, y) for x, y in zip(sizes, medians, strict=False) if y is not None and y > 0]
        if known:
            x, y = [x for x, _ in known], [y for _, y in known]
            drawn.append((max(y), Curve(text(part, "label").split(" (")[0], "ink", x, y)))
    drawn.sort(key=lambda pair: -pair[0])
    if not drawn:
        return ""
    shown = [
        Curve(curve.label, SERIES_ROLES[n], curve.x, curve.y)
        for n, (_, curve) in enumerate(drawn[:MOST_CURVES])
    ]
    scale = time_scale(drawn[0][0])
    plot = Plot(
        "Time of each phase over the size of the job",
        "Time",
        y_scale=scale,
        x_title=text(found, "axis_many"),
        height=260.0,
    )
    return curves(plot, shown, sizes=sizes)


SECTION = StudySection(
    "phases", "Phases", "scaling_phases.html", _context, place=30, kinds=("scaling",)
)
