"""The first screen of a study: which runs, the verdict, and what was found."""

from __future__ import annotations

from perfscope.report.access import Document, rows, text
from perfscope.report.labels import status_word
from perfscope.report.sections.findings import FOLDED_TITLES, finding_view
from perfscope.report.studies.build import KINDS
from perfscope.report.studies.section import OVERVIEW, Context, StudySection
from perfscope.report.studies.sections.findings import outcomes
from perfscope.savings import Wholes


def _context(document: Document) -> Context:
    found = outcomes(document)
    top = [
        finding_view(row, position, Wholes(None, None))
        for position, row in enumerate(found)
        if row.status not in FOLDED_TITLES
    ]
    runs = rows(document, "runs")
    ranks = sorted({int(row["ranks"]) for row in runs if isinstance(row.get("ranks"), int)})
    facts = [f"{len(runs):,} {'run' if len(runs) == 1 else 'runs'}"]
    if ranks:
        shown = ", ".join(map(str, ranks)) if len(ranks) <= 8 else f"{ranks[0]} to {ranks[-1]}"
        facts.append(f"{shown} {'rank' if ranks == [1] else 'ranks'}")
    return {
        "kind": KINDS.get(text(document, "kind"), "Study"),
        "facts": facts,
        "verdict": text(document, "verdict", "sentence") or "There is no verdict on this study.",
        "status": status_word(document.get("verdict", {}).get("status")),
        "top": top,
        "diagnoses": len(found),
    }


SECTION = StudySection("overview", "Overview", "study_overview.html", _context, place=OVERVIEW)
