"""How it was measured: the definitions behind every number of the page."""

from perfscope.report.studies.section import METHOD, Context, StudySection
from perfscope.schema.study import Study


def _context(study: Study) -> Context:
    return {
        "terms": [(one.term, one.text) for one in study.how_measured],
        "tool": f"{study.tool.name} {study.tool.version}".strip(),
        "schema": study.schema_version,
    }


SECTION = StudySection(
    "method", "How this was measured", "study_method.html", _context, place=METHOD, is_folded=True
)
