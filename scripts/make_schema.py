#!/usr/bin/env python3
"""Writes what docs say of documents and formats from the declarations in the code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.machine import replace_between  # noqa: E402, the path above finds it
from perfscope.cli.formats import LABELS  # noqa: E402
from perfscope.readers.registry import readers  # noqa: E402
from perfscope.schema.analysis import Analysis  # noqa: E402
from perfscope.schema.json_schema import json_schema  # noqa: E402
from perfscope.schema.study import Study  # noqa: E402

DOCS = ROOT / "docs"
DOCUMENTS = {
    DOCS / "analysis.schema.json": (Analysis, "analysis.json"),
    DOCS / "study.schema.json": (Study, "study.json"),
}


def text(target: Path) -> str:
    """What a file is to hold."""
    return json.dumps(json_schema(*DOCUMENTS[target]), ensure_ascii=False, indent=1) + "\n"


FORMATS = DOCS / "foreign-traces.md"


def formats() -> str:
    """What each format can tell, as a table."""
    head = ["", *LABELS.values()]
    rows = [
        [reader.description, *(getattr(reader.tells, name) or "no" for name in LABELS)]
        for reader in readers()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


if __name__ == "__main__":
    for target in DOCUMENTS:
        target.write_text(text(target), encoding="utf-8")
    replace_between(FORMATS, "formats", formats())
