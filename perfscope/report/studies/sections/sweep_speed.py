"""How fast each configuration was: a line for one variable, heat maps for two and three."""

import shlex
from collections.abc import Mapping, Sequence

from perfscope.report.formats import Scale, decimal, percent
from perfscope.report.studies.points import Point, Titles, measured_points
from perfscope.report.studies.section import Context, StudySection, to_report
from perfscope.schema.study import Study, SweepRunRow
from perfscope.schema.sweep_result import (
    ConfigurationResult,
    SweepObjective,
    SweepResult,
    VariedAxis,
)

MOST_PANELS = 12
MOST_CELLS = 24  # of a row or column of a heat map
SHADES = 7
SHORT_ENDS = {
    "out_of_memory": "out of memory",
    "time_limit": "time limit",
    "killed": "killed",
    "exit_code": "failed",
    "not_started": "not started",
    "unknown": "no record",
}
STATUS_SIGNS = {"failed": "✕", "refused": "–", "missing": "…"}


def swept(study: Study) -> SweepResult:
    """What a sweep found."""
    assert study.sweep is not None
    return study.sweep


def reports(study: Study) -> dict[int, str]:
    """Links to the report of a run of each configuration, by number; of one that ended well."""
    runs = [run for run in study.runs if isinstance(run, SweepRunRow)]
    ordered = sorted(runs, key=lambda run: (run.ending is None, -run.repeat))
    return {run.configuration: link for run in ordered if (link := to_report(run).link)}


def spread(bounds: tuple[float, float] | None, *, between: str = " to ") -> str:
    """The interval of a speed; "" where there is none."""
    return between.join(map(decimal, bounds)) if bounds else ""


def _context(study: Study) -> Context:
    sweep = swept(study)
    found, objective = sweep.configurations, sweep.objective
    varied = [axis for axis in sweep.axes if len(axis.values) > 1]
    names = [axis.name for axis in varied]
    fits = all(len(axis.values) <= MOST_CELLS for axis in varied[-2:])
    panels = varied[0].values if len(varied) == 3 else ("",)
    has_maps = len(varied) in (2, 3) and fits and len(panels) <= MOST_PANELS
    return {
        "label": objective.label or "Speed",
        "meaning": objective.meaning,
        "unit": objective.unit,
        "takeaway": study.verdict.sentence,
        "reason": objective.reason,
        "caution": objective.caution,
        "best_reason": sweep.best_reason,
        "command": shlex.join(sweep.command),
        "constant": [f"{k}={v}" for k, v in sweep.constant.items()],
        "names": names,
        "quality": sweep.quality,
        "chart": _line(found, varied[0], objective) if len(varied) == 1 and fits else "",
        "maps": [_map(study, varied, panel) for panel in panels] if has_maps else [],
        "panel_axis": names[0] if len(names) == 3 else "",
        "is_table_only": not has_maps and len(varied) != 1,
        "repeat": sweep.repeat,
        "noise": percent(sweep.noise.relative) if sweep.noise.relative else "",
        "search": sweep.search,
    }


def _line(
    found: Sequence[ConfigurationResult], axis: VariedAxis, objective: SweepObjective
) -> object:
    name, unit = axis.name, objective.unit
    by_value = {row.values[name]: row for row in found}
    points = [_point(value, by_value.get(value)) for value in axis.values]
    said = ", ".join(
        f"{point.text}: {decimal(point.y) if point.y is not None else point.note}"
        for point in points
    )
    titles = Titles(f"{objective.label} in {unit} by {name}: {said}", name, unit)
    return measured_points(titles, points, is_joined=bool(axis.numbers), scale=Scale())


def _point(value: str, row: ConfigurationResult | None) -> Point:
    if row is None:
        return Point(value or "(empty)", None, None, None, "not run")
    note = "best" if row.is_best else "" if row.speed is not None else _short(row)
    low, high = row.speed_interval or (None, None)
    return Point(value or "(empty)", row.speed, low, high, note)


def _short(row: ConfigurationResult) -> str:
    """Why there is no speed, in few words."""
    return SHORT_ENDS.get(row.end or "", "failed") if row.status == "failed" else "not run"


def _map(study: Study, axes: Sequence[VariedAxis], panel: str) -> Context:
    """A heat map of the last two axes; `panel` is a value of the first of three."""
    found, links = swept(study).configurations, reports(study)
    down, across = axes[-2], axes[-1]
    names = [axis.name for axis in axes]
    speeds = [row.speed for row in found if row.speed is not None]
    span = (min(speeds), max(speeds)) if speeds else (0.0, 0.0)
    by_values = {tuple(row.values[name] for name in names): row for row in found}
    return {
        "panel": panel,
        "down": down.name,
        "across": across.name,
        "columns": [value or "(empty)" for value in across.values],
        "lines": [
            {
                "value": line or "(empty)",
                "cells": [
                    _cell(by_values[(panel, line, column)[-len(names) :]], span, links)
                    for column in across.values
                ],
            }
            for line in down.values
        ],
    }


def _cell(row: ConfigurationResult, span: tuple[float, float], links: Mapping[int, str]) -> Context:
    low, high = span
    share = (row.speed - low) / (high - low) if row.speed is not None and high > low else 0.5
    return {
        "status": row.status if row.speed is None else "measured",
        "shade": min(SHADES - 1, int(share * SHADES)),
        "speed": decimal(row.speed),
        "link": links.get(row.number, ""),
        "spread": spread(row.speed_interval),
        "quality": "" if row.quality is None else decimal(row.quality),
        "is_best": row.is_best,
        "is_near": row.is_near,
        "sign": STATUS_SIGNS.get(row.status, "–"),
        "short": _short(row),
        "reason": _rest_of_reason(row),
        "failed_runs": row.failed_runs,
        "runs": row.runs,
    }


def _rest_of_reason(row: ConfigurationResult) -> str:
    """What the reason says beyond the few words in front of it."""
    if row.end == "time_limit":
        return ""
    return (row.reason or "").removeprefix(_short(row)).lstrip(" :")


SECTION = StudySection("speed", "Speed", "sweep_speed.html", _context, place=10, kinds=("sweep",))
