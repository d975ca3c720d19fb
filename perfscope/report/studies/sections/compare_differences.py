"""What else differs between the sides, before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from perfscope.report.access import Document, rows, text
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels
from perfscope.report.table import Column, Kind, Table

KINDS = {
    "program": "Program",
    "job": "Job",
    "machine": "Machine",
    "version": "Version",
    "variable": "Variable",
    "transport": "Transport",
    "pinning": "Pinning",
}
MOST_ROWS = 80


def _context(document: Document) -> Context:
    found = rows(document, "compare", "differences")
    return {
        "table": Table(
            "differences-table",
            "Differences of program, job, machine and environment",
            _columns(side_labels(document)),
            found,
            MOST_ROWS,
            "differences",
            file="study.json",
            has_caption=False,
        ),
        "varies": [text(row, "name") for row in found if row.get("varies_within")],
    }


def _columns(sides: list[str]) -> tuple[Column, ...]:
    values = (
        Column(side, partial(_value, place), kind=Kind.CODE, longest=120, absent="not set")
        for place, side in enumerate(sides)
    )
    name = Column("What", "name", kind=Kind.TEXT)
    return (name, Column("Kind", _kind, kind=Kind.TEXT, longest=20), *values)


def _kind(row: Mapping[str, Any]) -> str:
    return KINDS.get(text(row, "kind"), text(row, "kind"))


def _value(place: int, row: Mapping[str, Any]) -> str | None:
    values = row.get("values")
    found = values[place] if isinstance(values, list) and place < len(values) else None
    return found if isinstance(found, str) and found else None


SECTION = StudySection(
    "differences",
    "What else differs",
    "compare_differences.html",
    _context,
    place=10,
    kinds=("compare",),
)
