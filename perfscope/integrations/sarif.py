"""Findings as SARIF 2.1.0, which code hosts show beside the lines that they are about.

GitHub takes a result only with a location, and a rule only with a full description and a help text
(https://docs.github.com/en/code-security/reference/code-scanning/sarif-support-for-code-scanning).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from perfscope.output import visible
from perfscope.schema.analysis import Analysis
from perfscope.schema.findings import FindingRow

LEVELS = {"fail": "error", "warn": "warning"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST = 2000


def sarif(analysis: Analysis, descriptions: Mapping[str, str], *, root: Path) -> str:
    """The findings of a run that warn or fail.

    Files below `root`, that of the checkout, are named as the code host knows them.
    """
    loud = [row for row in analysis.findings if row.status.value in LEVELS]
    rules = {row.id: _rule(row, descriptions.get(row.id) or row.summary) for row in loud}
    driver = {
        "name": analysis.tool.name,
        "version": analysis.tool.version,
        "rules": list(rules.values()),
    }
    names = _Names(analysis.run.command, [p.file for row in loud for p in row.where], root)
    program = names.program or analysis.run.source
    results = [_result(row, names, program) for row in loud]
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=1) + "\n"


class _Names:
    """What files are called in the checkout, also where another copy of it was recorded."""

    def __init__(self, command: Sequence[str], files: Sequence[str | None], root: Path) -> None:
        self._root = root
        relative = [word for word in command if word and not PurePosixPath(word).is_absolute()]
        ends = [f"/{PurePosixPath(word)}" for word in relative]
        recorded = {str(file).removesuffix(end) for file in files if file for end in ends
                    if file.endswith(end)}  # fmt: skip
        self._recorded = sorted(recorded, key=len, reverse=True)
        here = (word for word in command if word and (root / word).is_file())
        self.program = next((self(word) for word in here if self(word)[:1] != "/"), "")

    def __call__(self, file: str) -> str:
        path = PurePosixPath(file)
        if path.is_relative_to(self._root):
            return str(path.relative_to(self._root))
        for place in self._recorded:
            if path.is_relative_to(place) and (self._root / path.relative_to(place)).is_file():
                return str(path.relative_to(place))
        return str(path)


def _rule(row: FindingRow, description: str) -> dict[str, Any]:
    described = {"text": visible(description, longest=LONGEST)}
    help_text = visible(" ".join(row.actions) or description, longest=LONGEST)
    words = row.id.replace("_", " ").capitalize()
    return {
        "id": row.id,
        "shortDescription": {"text": words},
        "fullDescription": described,
        "help": {"text": help_text},
    }


def _result(row: FindingRow, names: _Names, program: str) -> dict[str, Any]:
    text = " ".join(part for part in (f"{row.title}.", row.summary, *row.actions[:1]) if part)
    places = [_place(names(one.file), one.line) for one in row.where if one.file]
    return {
        "ruleId": row.id,
        "level": LEVELS[row.status.value],
        "message": {"text": visible(text, longest=LONGEST)},
        "locations": places or [_place(program, None)],
    }


def _place(name: str, line: int | None) -> Mapping[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(name)}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _uri(name: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - one place needs it

    return ("file://" if name.startswith("/") else "") + quote(name)
