#!/usr/bin/env python3
"""Writes what docs say of documents, findings and formats from the declarations in the code."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.machine import replace_between  # noqa: E402, the path above finds it
from perfscope.cli.formats import LABELS  # noqa: E402
from perfscope.findings.core.catalog import diagnoses  # noqa: E402
from perfscope.readers.registry import readers  # noqa: E402
from perfscope.schema.analysis import Analysis  # noqa: E402
from perfscope.schema.study import Study  # noqa: E402
from scripts.json_schema import json_schema  # noqa: E402
from scripts.schema_pages import page, structures  # noqa: E402

DOCS = ROOT / "docs"
DOCUMENTS = {
    DOCS / "analysis.schema.json": (Analysis, "analysis.json"),
    DOCS / "study.schema.json": (Study, "study.json"),
}


def text(target: Path) -> str:
    """What a file is to hold."""
    return json.dumps(json_schema(*DOCUMENTS[target]), ensure_ascii=False, indent=1) + "\n"


def formats() -> str:
    """What each format can tell, as a table."""
    head = ["", *LABELS.values()]
    rows = [
        [reader.description, *(getattr(reader.tells, name) or "no" for name in LABELS)]
        for reader in readers()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def findings() -> str:
    """Each diagnosis, by rank: what it looks for, its evidence and gain, and when it counts."""
    return "\n\n".join(
        f"### `{one.id}`\n\n**{one.title}.** {one.description}\n\n"
        f"* Shows: {one.evidence}.\n"
        f"* Gain: {one.gain_from}.\n"
        f"* Counts from: {one.counts_from or 'as most do'}."
        for one in diagnoses()
    )


PARTS = {
    "formats": (DOCS / "foreign-traces.md", formats),
    "findings": (DOCS / "findings.md", findings),
    "analysis.json": (DOCS / "analysis-json.md", lambda: page(Analysis)),
    "study.json": (
        DOCS / "study-json.md",
        lambda: page(Study, without=tuple(structures(Analysis))),
    ),
}
"""Parts of pages that are made, by the name of their markers."""


if __name__ == "__main__":
    for target in DOCUMENTS:
        target.write_text(text(target), encoding="utf-8")
    for name, (document, made) in PARTS.items():
        replace_between(document, name, made())
