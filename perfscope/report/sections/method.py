"""How it was measured: the definitions behind every number of the page."""

from perfscope.report.formats import seconds
from perfscope.report.sections.section import Context, Section
from perfscope.schema.analysis import Analysis


def _context(result: Analysis) -> Context:
    run, tool = result.run, result.tool
    start, end = run.focus_of_analysis_s
    return {
        "terms": [(one.term, one.text) for one in result.how_measured],
        "focus": f"{seconds(start)} to {seconds(end)}, {seconds(end - start)} in all",
        "focus_reason": run.focus_reason,
        "tool": f"{tool.name} {tool.version}".strip(),
        "schema": result.schema_version,
    }


SECTION = Section("method", "How this was measured", "method.html", _context, is_folded=True)
