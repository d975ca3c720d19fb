"""How it was measured: the definitions behind every number of the page."""

from __future__ import annotations

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.formats import seconds
from perfscope.report.sections.section import Context, Section


def _context(document: Document) -> Context:
    window = numbers(document, "run", "focus_of_analysis_s")
    tool = mapping(document, "tool")
    return {
        "terms": [(text(row, "term"), text(row, "text")) for row in rows(document, "how_measured")],
        "focus": (
            f"{seconds(window[0])} to {seconds(window[1])}, {seconds(window[1] - window[0])} in all"
            if len(window) == 2 and number(window[1]) is not None
            else ""
        ),
        "focus_reason": text(document, "run", "focus_reason"),
        "tool": f"{text(tool, 'name')} {text(tool, 'version')}".strip(),
        "schema": text(document, "schema_version"),
    }


SECTION = Section("method", "How this was measured", "method.html", _context, is_folded=True)
