"""Findings as SARIF 2.1.0, which code hosts show beside the lines that they are about."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from perfscope.output import visible
from perfscope.schema.findings import FindingRow

LEVELS = {"fail": "error", "warn": "warning"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[FindingRow], *, version: str, root: Path) -> str:
    """The findings that warn or fail.

    Args:
        findings: of a result.
        version: of perfscope.
        root: of the checkout: files below it are named as the code host knows them.
    """
    loud = [row for row in findings if row.status.value in LEVELS]
    rules = {row.id: {"id": row.id, "shortDescription": {"text": _words(row.id)}} for row in loud}
    driver = {"name": "perfscope", "version": version, "rules": list(rules.values())}
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(row, root) for row in loud]}],
    }
    return json.dumps(document, indent=1) + "\n"


def _result(row: FindingRow, root: Path) -> dict[str, Any]:
    text = " ".join(part for part in (f"{row.title}.", row.summary, *row.actions[:1]) if part)
    result: dict[str, Any] = {
        "ruleId": row.id,
        "level": LEVELS[row.status.value],
        "message": {"text": visible(text, longest=2000)},
    }
    places = [_place(place.file, place.line, root) for place in row.where if place.file]
    if places:
        result["locations"] = places
    return result


def _place(file: str, line: int | None, root: Path) -> Mapping[str, Any]:
    path = PurePosixPath(file)
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(inside)}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _uri(path: PurePosixPath) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - one place needs it

    return ("file://" if path.is_absolute() else "") + quote(str(path))


def _words(identity: str) -> str:
    return identity.replace("_", " ").capitalize()
