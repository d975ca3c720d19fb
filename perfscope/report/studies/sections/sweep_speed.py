"""How fast each configuration was: a line for one variable, heat maps for two and three."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text, texts
from perfscope.report.formats import Scale, decimal
from perfscope.report.studies.points import Point, Titles, measured_points
from perfscope.report.studies.section import Context, StudySection

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


def _context(document: Document) -> Context:
    sweep = mapping(document, "sweep")
    found = rows(sweep, "configurations")
    varied = [axis for axis in rows(sweep, "axes") if len(texts(axis, "values")) > 1]
    objective = mapping(sweep, "objective")
    unit = text(objective, "unit")
    names = [text(axis, "name") for axis in varied]
    fits = all(len(texts(axis, "values")) <= MOST_CELLS for axis in varied[-2:])
    panels = texts(varied[0], "values") if len(varied) == 3 else [""]
    has_maps = len(varied) in (2, 3) and fits and len(panels) <= MOST_PANELS
    return {
        "label": text(objective, "label") or "Speed",
        "meaning": text(objective, "meaning"),
        "unit": unit,
        "takeaway": text(document, "verdict", "sentence"),
        "reason": text(objective, "reason"),
        "caution": text(objective, "caution"),
        "best_reason": text(sweep, "best_reason"),
        "command": shlex.join(texts(sweep, "command")),
        "constant": [f"{k}={v}" for k, v in mapping(sweep, "constant").items()],
        "names": names,
        "quality": text(sweep, "quality"),
        "chart": _line(found, varied[0], objective) if len(varied) == 1 and fits else "",
        "maps": [_map(found, varied, panel) for panel in panels] if has_maps else [],
        "panel_axis": names[0] if len(names) == 3 else "",
        "is_table_only": not has_maps and len(varied) != 1,
        "repeat": int(number(sweep.get("repeat")) or 1),
        "search": number(sweep.get("search")),
    }


def _line(found: list[Mapping[str, Any]], axis: Mapping[str, Any], objective: Any) -> object:
    name, unit = text(axis, "name"), text(objective, "unit")
    by_value = {text(row, "values", name): row for row in found}
    points = [_point(value, by_value.get(value, {})) for value in texts(axis, "values")]
    said = ", ".join(
        f"{point.text}: {decimal(point.y) if point.y is not None else point.note}"
        for point in points
    )
    titles = Titles(f"{text(objective, 'label')} in {unit} by {name}: {said}", name, unit)
    is_joined = bool(numbers(axis, "numbers"))
    return measured_points(titles, points, is_joined=is_joined, scale=Scale())


def _point(value: str, row: Mapping[str, Any]) -> Point:
    spread = numbers(row, "speed_interval")
    speed = number(row.get("speed"))
    is_best = row.get("is_best") is True
    note = "best" if is_best else "" if speed is not None else _short(row)
    low, high = spread if len(spread) == 2 else (None, None)
    return Point(value or "(empty)", speed, low, high, note)


def _short(row: Mapping[str, Any]) -> str:
    """Why there is no speed, in few words."""
    if text(row, "status") == "failed":
        return SHORT_ENDS.get(text(row, "end"), "failed")
    return "not run"


def _map(found: list[Mapping[str, Any]], axes: list[Mapping[str, Any]], panel: str) -> Context:
    """A heat map of the last two axes; `panel` is a value of the first of three."""
    down, across = axes[-2], axes[-1]
    names = [text(axis, "name") for axis in axes]
    speeds = [value for row in found if (value := number(row.get("speed"))) is not None]
    span = (min(speeds), max(speeds)) if speeds else (0.0, 0.0)
    lines = []
    for line in texts(down, "values"):
        cells = []
        for column in texts(across, "values"):
            wanted = dict(zip(names, (panel, line, column)[-len(names) :], strict=True))
            matching = (r for r in found if all(text(r, "values", k) == wanted[k] for k in names))
            cells.append(_cell(next(matching, {}), span))
        lines.append({"value": line or "(empty)", "cells": cells})
    return {
        "panel": panel,
        "down": names[-2],
        "across": names[-1],
        "columns": [value or "(empty)" for value in texts(across, "values")],
        "lines": lines,
    }


def _cell(row: Mapping[str, Any], span: tuple[float, float]) -> Context:
    speed, spread = number(row.get("speed")), numbers(row, "speed_interval")
    low, high = span
    share = (speed - low) / (high - low) if speed is not None and high > low else 0.5
    status = text(row, "status")
    return {
        "status": status if speed is None else "measured",
        "shade": min(SHADES - 1, int(share * SHADES)),
        "speed": decimal(speed),
        "spread": f"{decimal(spread[0])} to {decimal(spread[1])}" if len(spread) == 2 else "",
        "quality": decimal(value) if (value := number(row.get("quality"))) is not None else "",
        "is_best": row.get("is_best") is True,
        "is_near": row.get("may_be_best") is True and row.get("is_best") is not True,
        "sign": STATUS_SIGNS.get(status, "–"),
        "short": _short(row),
        "reason": _rest_of_reason(row),
        "failed_runs": int(number(row.get("failed_runs")) or 0),
        "runs": int(number(row.get("runs")) or 0),
    }


def _rest_of_reason(row: Mapping[str, Any]) -> str:
    """What the reason says beyond the few words in front of it."""
    if text(row, "end") == "time_limit":
        return ""
    return text(row, "reason").removeprefix(_short(row)).lstrip(" :")


SECTION = StudySection("speed", "Speed", "sweep_speed.html", _context, place=10, kinds=("sweep",))
