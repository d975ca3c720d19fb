"""The efficiency trees of the sides beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, number, rows, text
from perfscope.report.formats import ratio
from perfscope.report.labels import band
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels
from perfscope.schema.efficiency import EFFICIENCIES


def _context(document: Document) -> Context:
    found = rows(document, "compare", "efficiencies")
    return {
        "sides": side_labels(document),
        "rows": [_view(row) for row in found],
        "takeaway": _takeaway(found),
    }


def _view(row: Mapping[str, Any]) -> Context:
    word = EFFICIENCIES.get(text(row, "id"))
    change = number(row.get("change"))
    return {
        "label": word.label if word else text(row, "id"),
        "depth": min(max(int(number(row.get("depth")) or 0), 0), 3),
        "cells": [_cell(side) for side in rows(row, "sides")],
        "change": "–" if change is None else f"{change:+.3f}",
    }


def _cell(side: Mapping[str, Any]) -> Context:
    value, low, high = (number(side.get(key)) for key in ("value", "lowest", "highest"))
    return {
        "value": "" if value is None else ratio(value),
        "spread": "" if value is None or low == high else f"{ratio(low)} to {ratio(high)}",
        "band": band(value),
        "reason": text(side, "reason"),
        "width": 0 if value is None else round(min(max(value, 0.0), 1.0) * 100, 2),
    }


def _takeaway(found: list[Mapping[str, Any]]) -> str:
    """The factor that changed most among those that are no product of others."""
    leaves = [
        (abs(change), text(row, "id"), change)
        for row in found
        if (change := number(row.get("change"))) is not None
        and (word := EFFICIENCIES.get(text(row, "id"))) is not None
        and not word.children
    ]
    if not leaves:
        return ""
    size, name, change = max(leaves)
    if size < 0.01:
        return "No factor changed by more than 0.01"
    moved = "rose" if change > 0 else "fell"
    return f"{EFFICIENCIES[name].label} changed most: it {moved} by {size:.3f}"


SECTION = StudySection(
    "efficiencies",
    "Efficiency",
    "compare_efficiency.html",
    _context,
    place=40,
    kinds=("compare",),
)
