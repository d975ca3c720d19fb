"""Findings that went and came, and what was promised for them beside what was obtained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.formats import percent, seconds
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels

CHANGES = {
    "gone": StatusWord("✓", "Gone", "pass"),
    "new": StatusWord("✕", "New", "fail"),
    "stayed": StatusWord("!", "Stayed", "warn"),
    "between": StatusWord("i", "Between", "info"),
}
BASES = {"replay": "replayed", "upper_bound": "upper bound"}


def _context(document: Document) -> Context:
    return {
        "sides": side_labels(document),
        "rows": [_view(row) for row in rows(document, "compare", "finding_changes")],
        "reason": text(document, "compare", "finding_changes_reason"),
        "promises": [
            _promise(row)
            for row in rows(document, "compare", "comparisons")
            if mapping(row, "promise")
        ],
    }


def _view(row: Mapping[str, Any]) -> Context:
    return {
        "title": text(row, "title") or text(row, "id"),
        "word": CHANGES.get(text(row, "change"), CHANGES["between"]),
        "cells": [_count(side) for side in rows(row, "sides")],
    }


def _count(side: Mapping[str, Any]) -> str:
    count, of = (int(number(side.get(key)) or 0) for key in ("runs_with_it", "runs"))
    if of == 1:
        return "yes" if count else "no"
    return f"{count} of {of} runs"


def _promise(row: Mapping[str, Any]) -> Context:
    found = mapping(row, "promise")
    error, predicted = number(found.get("relative_error")), number(found.get("predicted_s"))
    return {
        "side": text(row, "side"),
        "against": text(row, "against"),
        "rows": [_predicted(item) for item in rows(found, "rows")],
        "predicted": "" if predicted is None else seconds(predicted),
        "predicted_interval": _interval(numbers(found, "predicted_interval_s")),
        "reason": text(found, "reason"),
        "obtained": seconds(number(found.get("obtained_s"))),
        "range": _interval(numbers(found, "obtained_range_s")),
        "error": "" if error is None else f"{'+' if error > 0 else ''}{percent(error)}",
    }


def _predicted(row: Mapping[str, Any]) -> Context:
    return {
        "title": text(row, "title"),
        "word": CHANGES["gone" if row.get("gone") else "stayed"],
        "gain": seconds(number(row.get("predicted_s"))),
        "interval": _interval(numbers(row, "interval_s")),
        "basis": BASES.get(text(row, "basis"), text(row, "basis")),
    }


def _interval(bounds: list[float]) -> str:
    if len(bounds) != 2 or bounds[0] == bounds[1]:
        return ""
    return f"{seconds(bounds[0])} to {seconds(bounds[1])}"


SECTION = StudySection(
    "promises",
    "Findings, promised and obtained",
    "compare_findings.html",
    _context,
    place=50,
    kinds=("compare",),
)
