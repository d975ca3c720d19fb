"""Quality of the measurement: every check of the recording itself, and the replay's error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.access import Document, mapping, number, rows, text, texts
from perfscope.report.formats import seconds
from perfscope.report.labels import status_word
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.units import counted

SERIOUS = ("fail", "warn")
CHECKS = (
    Column("Check", "title", kind=Kind.TEXT, longest=120),
    Column("Outcome", lambda row: status_word(row.get("status")), kind=Kind.SIGN),
    Column("Detail", "detail", kind=Kind.TEXT, longest=500),
)


def _context(document: Document) -> Context:
    checks = rows(document, "quality")
    replay = mapping(document, "replay")
    error, ideal = number(replay.get("relative_error")), number(replay.get("ideal_runtime_s"))
    return {
        "checks": Table(
            "quality-table", "Checks of the recording", CHECKS, checks, has_caption=False
        ),
        "is_replayed": replay.get("available") is True,
        "replay_reason": text(replay, "reason") or "the result does not hold a replay",
        "replay_error": "" if error is None else (f"{error:.1e}" if error else "0"),
        "ideal": "" if ideal is None else seconds(ideal),
        "assumptions": texts(replay, "edits_assumptions"),
        "takeaway": trust_and_doubts(checks),
    }


def trust(checks: Sequence[Mapping[str, Any]]) -> str:
    """How many checks of the recording passed; "" without checks."""
    passed = sum(text(row, "status") == "pass" for row in checks)
    return f"{passed} of {counted(len(checks), 'check')} of the recording passed" if checks else ""


def trust_and_doubts(checks: Sequence[Mapping[str, Any]]) -> str:
    """How many checks of the recording passed, and which ones raise a doubt; "" without checks."""
    doubts = "; ".join(text(row, "title") for row in checks if text(row, "status") in SERIOUS)
    return f"{trust(checks)}; look at: {doubts}" if doubts else trust(checks)


SECTION = Section("quality", "Quality of the measurement", "quality.html", _context, is_folded=True)
