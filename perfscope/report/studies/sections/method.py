"""How it was measured: the definitions behind every number of the page."""

from __future__ import annotations

from perfscope.report.studies.access import Document
from perfscope.report.studies.section import METHOD, Context, StudySection
from perfscope.schema.read import known
from perfscope.schema.study import Study


def _context(document: Document) -> Context:
    found = known(document, Study)
    return {
        "terms": [(one.term, one.text) for one in found.how_measured],
        "tool": f"{found.tool.name} {found.tool.version}".strip(),
        "schema": found.schema_version,
    }


SECTION = StudySection(
    "method", "How this was measured", "study_method.html", _context, place=METHOD
)
