"""A comparison as Markdown, for a comment on a pull request."""

import re
from collections.abc import Sequence

from perfscope.report.formats import NBSP
from perfscope.report.labels import status_word
from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_efficiency,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.studies.sections.compare_answer import compared
from perfscope.report.table import Table
from perfscope.report.text import shortened, visible_document
from perfscope.schema.compare import Compare
from perfscope.schema.study import Study

SIGNS = {"fail": "❌", "warn": "⚠️", "pass": "✅"}
MOST_DIFFERENCES = 20
LONGEST = 200
LONGEST_TITLE = 60
_MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>#|~&@$])")


def comparison(study: Study) -> str:
    """A comparison as GitHub's and GitLab's Markdown.

    Args:
        study: a comparison. Its texts come from recorded jobs and are not trusted: no
            character of them is markup, a link or the mention of a person.
    """
    safe: Study = visible_document(study)
    status = safe.verdict.status
    sign = SIGNS.get(status, "ℹ️")
    sentence = escaped(safe.verdict.sentence, longest=900)
    found = compared(safe)
    differences = compare_differences.differences(found)
    unit = compare_waterfall.unit_of(found)
    parts = [
        f"### {sign} perfscope: {status_word(status).word.lower()}",
        sentence,
        *_measures(safe),
        *_findings(found),
        *_folded("What else differs", table(differences.first(MOST_DIFFERENCES))),
        *_folded(f"Where the time went, {unit}", _waterfall(compare_waterfall.spent(found))),
        *_folded(f"What the time was lost to, {unit}", _waterfall(compare_waterfall.lost(found))),
        *_folded("Efficiency", table(compare_efficiency.efficiencies(found))),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(value: str, *, longest: int = LONGEST) -> str:
    """The text with every character that Markdown gives a meaning written as itself."""
    plain = shortened(" ".join(value.replace(NBSP, " ").split()), longest)
    return _MEANINGFUL.sub(r"\\\1", plain).replace("://", ":\u200b//").replace("www.", "www\\.")


def table(found: Table) -> str:
    """A table without its rows beyond `most`; "" for one without rows."""
    head = [escaped(column.title, longest=LONGEST_TITLE) for column in found.columns]
    body = [[escaped(cell.told) for cell in row] for row in found.cells]
    lines = (
        [head, ["---:" if column.is_number else "---" for column in found.columns], *body]
        if body
        else []
    )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _folded(title: str, body: str) -> list[str]:
    return [f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"] if body else []


def _measures(study: Study) -> list[str]:
    left_out = [f"Not counted: {escaped(reason)}" for reason in compare_answer.left_out(study)]
    return [table(compare_answer.measures(compared(study))), *left_out]


def _findings(found: Compare) -> list[str]:
    changes = compare_findings.changes(found)
    lines = [f"* {change.text}: {escaped(title.text)}" for title, change, *_ in changes.cells]
    told = [escaped(sentence, longest=500) for sentence in compare_findings.predictions(found)]
    return (["\n".join(lines)] if lines else []) + told


def _waterfall(steps: Sequence[compare_waterfall.Step]) -> str:
    return "\n\n".join(table(step.table) for step in steps)
