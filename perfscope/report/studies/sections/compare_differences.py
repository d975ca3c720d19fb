"""What else differs between the sides, before anything is compared."""

from functools import partial

from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import compared, side_labels
from perfscope.report.studies.word_changes import changed_words
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.schema.compare import Compare, SideDifference
from perfscope.schema.study import Study

KINDS = {
    "program": "Program",
    "job": "Job",
    "machine": "Machine",
    "version": "Version",
    "variable": "Variable",
    "transport": "Transport",
    "pinning": "Pinning",
}
MOST_ROWS = 80
MOST_NAMES = 4
LONGEST = 240


def _context(study: Study) -> Context:
    found = compared(study)
    return {
        "table": differences(found),
        "takeaway": _takeaway([row.name for row in found.differences]),
        "varies": varying(found),
    }


def differences(found: Compare) -> Table:
    """What is not the same on all sides."""
    return Table(
        "differences-table",
        "Differences of program, job, machine and environment",
        _columns(side_labels(found)),
        found.differences,
        MOST_ROWS,
        "differences",
        file="study.json",
        has_caption=False,
    )


def varying(found: Compare) -> list[str]:
    """What differs among the runs of one side."""
    return [row.name for row in found.differences if row.varies_within]


def _columns(sides: list[str]) -> tuple[Column, ...]:
    values = (
        Column(side, partial(_value, place), kind=Kind.CODE, longest=LONGEST, absent="not set")
        for place, side in enumerate(sides)
    )
    name = Column("What", "name", kind=Kind.TEXT)
    return (
        name,
        Column("Kind", lambda row: KINDS.get(row.kind, row.kind), kind=Kind.TEXT, longest=20),
        *values,
    )


def _value(place: int, row: SideDifference) -> str | None:
    """What the first side has, and of the others what is not like it."""
    first, own = row.values[0] or None, row.values[place] or None
    return changed_words(first, own) if place else own


def _takeaway(names: list[str]) -> str:
    """What differs, by name, as far as that is short."""
    if not names:
        return "Nothing that is recorded differs"
    shown = [shortened(name, 30) for name in dict.fromkeys(names)][:MOST_NAMES]
    more = len(dict.fromkeys(names)) - len(shown)
    return f"The sides differ in {', '.join(shown)}{f' and {more} more' if more else ''}"


SECTION = StudySection(
    "differences",
    "What else differs",
    "compare_differences.html",
    _context,
    place=10,
    kinds=("compare",),
    is_folded=True,
)
