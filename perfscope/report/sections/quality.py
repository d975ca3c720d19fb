"""Quality of the measurement: every check of the recording itself, and the replay's error."""

from __future__ import annotations

from perfscope.report.access import Document, mapping, number, rows, text, texts
from perfscope.report.formats import seconds
from perfscope.report.labels import status_word
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table

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
    serious = sum(row.get("status") in SERIOUS for row in checks)
    return {
        "checks": Table(
            "quality-table", "Checks of the recording", CHECKS, checks, has_caption=False
        ),
        "is_replayed": replay.get("available") is True,
        "replay_reason": text(replay, "reason") or "the result does not hold a replay",
        "replay_error": "" if error is None else (f"{error:.1e}" if error else "0"),
        "ideal": "" if ideal is None else seconds(ideal),
        "assumptions": texts(replay, "edits_assumptions"),
        "takeaway": _takeaway(len(checks), serious),
    }


def _takeaway(checks: int, serious: int) -> str:
    if not checks:
        return ""
    if serious:
        return f"{serious} of {checks} checks of the recording raise a doubt"
    return f"None of the {checks} checks of the recording raises a doubt"


SECTION = Section("quality", "Quality of the measurement", "quality.html", _context)
