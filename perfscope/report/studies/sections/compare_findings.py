"""Findings that went and came, and what was promised for them beside what was obtained."""

from __future__ import annotations

from functools import partial

from perfscope.report.formats import percent, seconds
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import compared, side_labels
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.compare import Change, Comparison, FindingChange, Promise
from perfscope.schema.enums import Basis
from perfscope.schema.study import Study

CHANGES: dict[Change, StatusWord] = {
    "gone": StatusWord("✓", "Gone", "pass"),
    "new": StatusWord("✕", "New", "fail"),
    "stayed": StatusWord("!", "Stayed", "warn"),
    "between": StatusWord("i", "Between", "info"),
}
BASES = {Basis.REPLAY: "replayed", Basis.UPPER_BOUND: "upper bound"}


def _context(study: Study) -> Context:
    found = compared(study)
    promises = [(row, row.promise) for row in found.comparisons if row.promise]
    return {
        "changes": Table(
            "promises-changes",
            "Findings of the sides",
            _columns(side_labels(found)),
            found.finding_changes,
            file="study.json",
            has_caption=False,
        ),
        "reason": found.finding_changes_reason,
        "promises": [_promise(place, *one) for place, one in enumerate(promises, start=1)],
    }


def _columns(sides: list[str]) -> tuple[Column, ...]:
    return (
        Column("Finding", lambda row: row.title or row.id, None, Kind.TEXT, 140),
        Column("Change", lambda row: CHANGES[row.change], kind=Kind.SIGN),
        *(Column(side, partial(_count, place)) for place, side in enumerate(sides)),
    )


def _count(place: int, row: FindingChange) -> str:
    count, of = row.sides[place].runs_with_it, row.sides[place].runs
    if of == 1:
        return "yes" if count else "no"
    return f"{count} of {of} runs"


def _promise(place: int, row: Comparison, found: Promise) -> Context:
    error = found.relative_error
    return {
        "side": row.side,
        "against": row.against,
        "table": Table(
            f"promises-table-{place}",
            "Promised and obtained",
            PROMISES,
            found.rows,
            file="study.json",
            has_caption=False,
        ),
        "predicted": "" if found.predicted_s is None else seconds(found.predicted_s),
        "predicted_interval": _interval(found.predicted_interval_s),
        "reason": found.reason,
        "obtained": seconds(found.obtained_s),
        "range": _interval(found.obtained_range_s),
        "error": "" if error is None else f"{'+' if error > 0 else ''}{percent(error)}",
    }


def _interval(bounds: tuple[float, float] | None) -> str:
    return " to ".join(map(seconds, bounds)) if bounds and bounds[0] != bounds[1] else ""


PROMISES = (
    Column("Finding", "title", kind=Kind.TEXT, longest=140),
    Column("State", lambda row: CHANGES["gone" if row.gone else "stayed"], kind=Kind.SIGN),
    Column(
        "Predicted gain",
        "predicted_s",
        seconds,
        note=Note(lambda row: _interval(row.interval_s)),
    ),
    Column("Basis", lambda row: BASES.get(row.basis, "")),
)
SECTION = StudySection(
    "promises",
    "Findings, promised and obtained",
    "compare_findings.html",
    _context,
    place=50,
    kinds=("compare",),
)
