#!/usr/bin/env python3
"""Writes docs/analysis.schema.json from the declaration in perfscope/schema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from perfscope.schema.json_schema import json_schema  # noqa: E402, the path above finds it

TARGET = ROOT / "docs" / "analysis.schema.json"


def text() -> str:
    """What the file is to hold."""
    return json.dumps(json_schema(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
