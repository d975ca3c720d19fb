"""How it was measured: the definitions behind every number of the page."""

from __future__ import annotations

from perfscope.report.access import Document, rows, text
from perfscope.report.studies.section import METHOD, Context, StudySection


def _context(document: Document) -> Context:
    return {
        "terms": [(text(row, "term"), text(row, "text")) for row in rows(document, "how_measured")],
        "tool": f"{text(document, 'tool', 'name')} {text(document, 'tool', 'version')}".strip(),
        "schema": text(document, "schema_version"),
    }


SECTION = StudySection(
    "method", "How this was measured", "study_method.html", _context, place=METHOD
)
