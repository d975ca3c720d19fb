"""What else differs between the sides, before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, rows, text
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels

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
        "sides": side_labels(document),
        "rows": [_view(row) for row in found[:MOST_ROWS]],
        "left_out": max(len(found) - MOST_ROWS, 0),
        "varies": [text(row, "name") for row in found if row.get("varies_within")],
    }


def _view(row: Mapping[str, Any]) -> Context:
    values = row.get("values")
    known = values if isinstance(values, list) else []
    return {
        "kind": KINDS.get(text(row, "kind"), text(row, "kind")),
        "name": text(row, "name"),
        "values": [value if isinstance(value, str) else "" for value in known],
    }


SECTION = StudySection(
    "differences",
    "What else differs",
    "compare_differences.html",
    _context,
    place=10,
    kinds=("compare",),
)
