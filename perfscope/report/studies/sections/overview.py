"""The first screen of a study: which runs, the verdict, and what was found."""

import shlex
from collections.abc import Sequence

from perfscope.report.labels import status_word
from perfscope.report.sections.findings import FOLDED_TITLES, finding_view
from perfscope.report.studies.build import KINDS
from perfscope.report.studies.recommended import recommended
from perfscope.report.studies.section import OVERVIEW, Context, StudySection
from perfscope.savings import Wholes
from perfscope.schema.study import Study
from perfscope.units import counted

DIFFERENT = "…"  # stands for a word of the command


def _context(study: Study) -> Context:
    top = [
        finding_view(row, position, Wholes(None, None))
        for position, row in enumerate(study.findings)
        if row.status not in FOLDED_TITLES
    ]
    ranks = sorted({run.ranks for run in study.runs if run.ranks is not None})
    facts = [counted(len(study.runs), "run")]
    if ranks:
        shown = ", ".join(map(str, ranks)) if len(ranks) <= 8 else f"{ranks[0]} to {ranks[-1]}"
        facts.append(f"{shown} {'rank' if ranks == [1] else 'ranks'}")
    return {
        "kind": KINDS.get(study.kind, "Study"),
        "facts": facts,
        # a sweep shows its own, with the names of what varies, beside what it holds constant
        "command": "" if study.sweep else common([run.command for run in study.runs]),
        "verdict": study.verdict.sentence or "There is no verdict on this study.",
        "status": status_word(study.verdict.status),
        "recommended": recommended(study),
        "top": top,
        "diagnoses": len(study.findings),
    }


def common(commands: Sequence[Sequence[str]]) -> str:
    """What all runs were started with, `…` for each word in which they differ.

    "" where they have not the same number of words, or no word in common.
    """
    if len({len(words) for words in commands}) != 1:
        return ""
    words = [one.pop() if len(one) == 1 else "" for one in map(set, zip(*commands, strict=True))]
    return (
        " ".join(shlex.quote(word) if word else DIFFERENT for word in words) if any(words) else ""
    )


SECTION = StudySection(
    "overview", "Overview", "study_overview.html", _context, is_summary=True, place=OVERVIEW
)
