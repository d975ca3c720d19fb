"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfscope.report.access import Document, number, rows, text
from perfscope.report.formats import NBSP
from perfscope.report.labels import status_word
from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.text import shortened, visible_document
from perfscope.schema.efficiency import EFFICIENCIES

SIGNS = {"fail": "❌", "warn": "⚠️", "pass": "✅"}
MOST_DIFFERENCES = 20
LONGEST = 200
_MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>#|~&@$])")


def comparison(document: Document) -> str:
    """The comparison in study.json as GitHub's and GitLab's Markdown.

    Args:
        document: as study.json holds it. Its texts come from recorded jobs and are not trusted: no
            character of them is markup, a link or the mention of a person.
    """
    safe: Document = visible_document(dict(document))
    status = text(safe, "verdict", "status")
    sign = SIGNS.get(status, "ℹ️")
    sentence = escaped(text(safe, "verdict", "sentence"), longest=900)
    parts = [
        f"### {sign} perfscope: {status_word(status).word.lower()}",
        sentence,
        *_measures(safe),
        *_findings(safe),
        *_folded("What else differs", _differences(safe)),
        *_folded("Where the time went", _waterfall(safe)),
        *_folded("Efficiency", _efficiencies(safe)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(value: str, *, longest: int = LONGEST) -> str:
    """The text with every character that Markdown gives a meaning written as itself."""
    plain = shortened(" ".join(value.replace(NBSP, " ").split()), longest)
    return _MEANINGFUL.sub(r"\\\1", plain).replace("://", ":\u200b//").replace("www.", "www\\.")


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _folded(title: str, body: str) -> list[str]:
    return [f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"] if body else []


def _labels(document: Document) -> list[str]:
    return [escaped(label, longest=60) for label in compare_answer.side_labels(document)]


def _measures(document: Document) -> list[str]:
    found = compare_answer.SECTION.context(document)
    body = [
        [
            escaped(row["label"]),
            *(escaped(value) for value, _ in row["cells"]),
            *(escaped(f"{value} ({s})" if s else value) for value, s in row["changes"]),
        ]
        for row in found["measures"]
        if not row["reason"]
    ]
    head = ["Median of the runs", *_labels(document), *(escaped(c) for c in found["changes"])]
    left_out = [f"Not counted: {escaped(reason)}" for reason in found["left_out"]]
    return [_table(head, body), *left_out] if body else left_out


def _findings(document: Document) -> list[str]:
    found = compare_findings.SECTION.context(document)
    lines = [f"* {row['word'].word}: {escaped(row['title'])}" for row in found["rows"]]
    parts = ["\n".join(lines)] if lines else []
    for promise in found["promises"]:
        if promise["predicted"]:
            error = f", off by {escaped(promise['error'])}" if promise["error"] else ""
            parts.append(
                f"Predicted for what is gone: {escaped(promise['predicted'])}; obtained: "
                f"{escaped(promise['obtained'])}{error}."
            )
    return parts


def _differences(document: Document) -> str:
    found = compare_differences.SECTION.context(document)
    body = [
        [escaped(row["name"]), *(escaped(value) or "not set" for value in row["values"])]
        for row in found["rows"][:MOST_DIFFERENCES]
    ]
    return _table(["", *_labels(document)], body) if body else ""


def _waterfall(document: Document) -> str:
    found = compare_waterfall.tables(document)
    tables = []
    for step in found["steps"]:
        head = [f"Seconds of {found['unit']}", escaped(step["from"]), escaped(step["to"]), "Change"]
        tables.append(_table(head, [[escaped(cell) for cell in row[:4]] for row in step["rows"]]))
    return "\n\n".join(tables)


def _efficiencies(document: Document) -> str:
    body = []
    for row in rows(document, "compare", "efficiencies"):
        values = [number(side.get("value")) for side in rows(row, "sides")]
        word = EFFICIENCIES.get(text(row, "id"))
        if word is not None and any(value is not None for value in values):
            body.append([word.label, *("–" if v is None else f"{v:.3f}" for v in values)])
    return _table(["", *_labels(document)], body) if body else ""
