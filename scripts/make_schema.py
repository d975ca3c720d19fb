#!/usr/bin/env python3
"""Writes the JSON Schemas in docs from the declarations in perfscope/schema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from perfscope.schema.analysis import Analysis  # noqa: E402, the path above finds it
from perfscope.schema.json_schema import json_schema  # noqa: E402, the path above finds it
from perfscope.schema.study import Study  # noqa: E402

DOCS = ROOT / "docs"
DOCUMENTS = {
    DOCS / "analysis.schema.json": (Analysis, "analysis.json"),
    DOCS / "study.schema.json": (Study, "study.json"),
}


def text(target: Path) -> str:
    """What a file is to hold."""
    return json.dumps(json_schema(*DOCUMENTS[target]), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for target in DOCUMENTS:
        target.write_text(text(target), encoding="utf-8")
