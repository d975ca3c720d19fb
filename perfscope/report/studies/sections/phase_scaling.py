"""Time, speed-up and efficiency of each phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, ratio, seconds, time_scale
from perfscope.report.labels import band
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import curve, scaled
from perfscope.schema.scaling import ScalingPart, ScalingResult
from perfscope.schema.study import Study
from perfscope.units import counted

MOST_CURVES = 6


def _context(study: Study) -> Context:
    found = scaled(study)
    sizes = [float(point.size) for point in found.points]
    return {
        "sizes": [found.size_label(size) for size in sizes],
        "parts": [_part(part) for part in found.parts],
        "chart": _chart(found, sizes) if len(sizes) > 1 else "",
    }


def _part(part: ScalingPart) -> Context:
    entered = part.ranks or ()
    is_same = len(set(entered)) == 1 and len(entered) > 1
    return {
        "label": part.label,
        "note": f"on {counted(entered[-1], 'rank')} alone" if is_same else "",
        "cells": [
            {
                "time": seconds(time.median if time else None),
                "speedup": decimal(speedup),
                "efficiency": ratio(efficiency),
                "band": band(efficiency) if efficiency is not None else None,
            }
            for time, speedup, efficiency in zip(
                part.time_s, part.speedup, part.efficiency, strict=True
            )
        ],
    }


def _chart(found: ScalingResult, sizes: Sequence[float]) -> str:
    """Seconds of the parts that take most at any size."""
    drawn: list[Curve] = []
    for part in found.parts:
        medians = [time.median if time and time.median > 0 else None for time in part.time_s]
        drawn += curve(part.label.split(" (")[0], "ink", sizes, medians)
    drawn.sort(key=lambda one: -max(one.y))
    if not drawn:
        return ""
    shown = [replace(one, role=SERIES_ROLES[n]) for n, one in enumerate(drawn[:MOST_CURVES])]
    plot = Plot(
        "Time of each phase over the size of the job",
        "Time",
        y_scale=time_scale(max(drawn[0].y)),
        x_title=found.axis_many,
        height=260.0,
    )
    return curves(plot, shown, sizes=sizes)


SECTION = StudySection(
    "phases", "Phases", "scaling_phases.html", _context, place=30, kinds=("scaling",)
)
