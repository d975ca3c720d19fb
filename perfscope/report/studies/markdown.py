"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re

from perfscope.report.formats import NBSP
from perfscope.report.labels import status_word
from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_efficiency,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.table import Table
from perfscope.report.text import shortened, visible_document
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
    differences: Table = compare_differences.SECTION.context(safe)["table"]
    parts = [
        f"### {sign} perfscope: {status_word(status).word.lower()}",
        sentence,
        *_measures(safe),
        *_findings(safe),
        *_folded("What else differs", table(differences.first(MOST_DIFFERENCES))),
        *_folded("Where the time went", _waterfall(safe, "steps")),
        *_folded("What the time was lost to", _waterfall(safe, "losses")),
        *_folded("Efficiency", table(compare_efficiency.SECTION.context(safe)["table"])),
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
    found = compare_answer.SECTION.context(study)
    left_out = [f"Not counted: {escaped(reason)}" for reason in found["left_out"]]
    return [table(found["measures"]), *left_out]


def _findings(study: Study) -> list[str]:
    found = compare_findings.SECTION.context(study)
    changes: Table = found["changes"]
    lines = [f"* {change.text}: {escaped(title.text)}" for title, change, *_ in changes.cells]
    parts = ["\n".join(lines)] if lines else []
    told = (promise["sentence"] for promise in found["promises"])
    parts += [escaped(sentence, longest=500) for sentence in told if sentence]
    return parts


def _waterfall(study: Study, part: str) -> str:
    found = compare_waterfall.tables(study)
    return "\n\n".join(table(step["table"]) for step in found[part])
