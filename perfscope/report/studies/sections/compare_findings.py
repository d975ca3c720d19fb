"""Findings that went and came, and what was promised for them beside what was obtained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.formats import percent, seconds
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels
from perfscope.report.table import Column, Kind, Note, Table

CHANGES = {
    "gone": StatusWord("✓", "Gone", "pass"),
    "new": StatusWord("✕", "New", "fail"),
    "stayed": StatusWord("!", "Stayed", "warn"),
    "between": StatusWord("i", "Between", "info"),
}
BASES = {"replay": "replayed", "upper_bound": "upper bound"}


def _context(document: Document) -> Context:
    return {
        "changes": Table(
            "promises-changes",
            "Findings of the sides",
            _columns(side_labels(document)),
            rows(document, "compare", "finding_changes"),
            file="study.json",
            has_caption=False,
        ),
        "reason": text(document, "compare", "finding_changes_reason"),
        "promises": [
            _promise(place, row)
            for place, row in enumerate(
                (r for r in rows(document, "compare", "comparisons") if mapping(r, "promise")),
                start=1,
            )
        ],
    }


def _columns(sides: list[str]) -> tuple[Column, ...]:
    return (
        Column("Finding", lambda row: text(row, "title") or text(row, "id"), None, Kind.TEXT, 140),
        Column("Change", _change, kind=Kind.SIGN),
        *(Column(side, partial(_count, place)) for place, side in enumerate(sides)),
    )


def _change(row: Mapping[str, Any]) -> StatusWord:
    return CHANGES.get(text(row, "change"), CHANGES["between"])


def _count(place: int, row: Mapping[str, Any]) -> str | None:
    sides = rows(row, "sides")
    if place >= len(sides):
        return None
    count, of = (int(number(sides[place].get(key)) or 0) for key in ("runs_with_it", "runs"))
    if of == 1:
        return "yes" if count else "no"
    return f"{count} of {of} runs"


def _promise(place: int, row: Mapping[str, Any]) -> Context:
    found = mapping(row, "promise")
    error, predicted = number(found.get("relative_error")), number(found.get("predicted_s"))
    return {
        "side": text(row, "side"),
        "against": text(row, "against"),
        "table": Table(
            f"promises-table-{place}",
            "Promised and obtained",
            PROMISES,
            rows(found, "rows"),
            file="study.json",
            has_caption=False,
        ),
        "predicted": "" if predicted is None else seconds(predicted),
        "predicted_interval": _interval(numbers(found, "predicted_interval_s")),
        "reason": text(found, "reason"),
        "obtained": seconds(number(found.get("obtained_s"))),
        "range": _interval(numbers(found, "obtained_range_s")),
        "error": "" if error is None else f"{'+' if error > 0 else ''}{percent(error)}",
    }


def _interval(bounds: list[float]) -> str:
    if len(bounds) != 2 or bounds[0] == bounds[1]:
        return ""
    return f"{seconds(bounds[0])} to {seconds(bounds[1])}"


PROMISES = (
    Column("Finding", "title", kind=Kind.TEXT, longest=140),
    Column("State", lambda row: CHANGES["gone" if row.get("gone") else "stayed"], kind=Kind.SIGN),
    Column(
        "Predicted gain",
        "predicted_s",
        seconds,
        note=Note(lambda row: _interval(numbers(row, "interval_s"))),
    ),
    Column("Basis", lambda row: BASES.get(text(row, "basis"), text(row, "basis"))),
)
SECTION = StudySection(
    "promises",
    "Findings, promised and obtained",
    "compare_findings.html",
    _context,
    place=50,
    kinds=("compare",),
)
