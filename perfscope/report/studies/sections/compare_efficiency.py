"""The efficiency trees of the sides beside each other."""

from collections.abc import Sequence
from functools import partial

from perfscope.report.formats import ratio
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import compared, side_labels
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.compare import Compare, ComparedEfficiency
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.study import Study


def _context(study: Study) -> Context:
    found = compared(study)
    return {"table": efficiencies(found), "takeaway": _takeaway(found.efficiencies)}


def efficiencies(found: Compare) -> Table:
    """The trees of the sides."""
    rows, file = found.efficiencies, "study.json"
    columns = (
        Column("Efficiency", _label, kind=Kind.TEXT, depth=lambda row: min(max(row.depth, 0), 3)),
        *(
            Column(side, partial(_value, place), ratio, Kind.BAND, note=Note(partial(_note, place)))
            for place, side in enumerate(side_labels(found))
        ),
        Column("Change", "change", "{:+.3f}".format),
    )
    caption = "Efficiencies of the sides"
    return Table("efficiencies-table", caption, columns, rows, file=file, has_caption=False)


def _label(row: ComparedEfficiency) -> str:
    word = EFFICIENCIES.get(row.id)
    return word.label if word else row.id


def _value(place: int, row: ComparedEfficiency) -> float | None:
    return row.sides[place].value


def _note(place: int, row: ComparedEfficiency) -> str:
    """The range of the runs, or why there is no value."""
    side = row.sides[place]
    if side.value is None:
        return side.reason or ""
    return "" if side.lowest == side.highest else f"{ratio(side.lowest)} to {ratio(side.highest)}"


def _takeaway(found: Sequence[ComparedEfficiency]) -> str:
    """The factor that changed most among those that are no product of others."""
    leaves = [
        (abs(row.change), row.id, row.change)
        for row in found
        if row.change is not None
        and (word := EFFICIENCIES.get(row.id)) is not None
        and not word.children
    ]
    if not leaves:
        return ""
    size, name, change = max(leaves)
    if size < 0.01:
        return "No factor changed by more than 0.01"
    moved = "rose" if change > 0 else "fell"
    return f"{EFFICIENCIES[name].label} changed most: it {moved} by {size:.3f}"


SECTION = StudySection(
    "efficiencies",
    "Efficiency",
    "compare_efficiency.html",
    _context,
    place=40,
    kinds=("compare",),
    is_folded=True,
)
