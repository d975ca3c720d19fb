"""The efficiency trees of the sides beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from perfscope.report.access import Document, number, rows, text
from perfscope.report.formats import ratio
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.efficiency import EFFICIENCIES


def _context(document: Document) -> Context:
    found = rows(document, "compare", "efficiencies")
    return {
        "table": _table(found, side_labels(document)),
        "takeaway": _takeaway(found),
    }


def _table(found: list[Mapping[str, Any]], sides: list[str]) -> Table:
    columns = (
        Column("Efficiency", _label, kind=Kind.TEXT, depth=_depth),
        *(
            Column(side, partial(_value, place), ratio, Kind.BAND, note=Note(partial(_note, place)))
            for place, side in enumerate(sides)
        ),
        Column("Change", "change", "{:+.3f}".format),
    )
    caption = "Efficiencies of the sides"
    file = "study.json"
    return Table("efficiencies-table", caption, columns, found, file=file, has_caption=False)


def _label(row: Mapping[str, Any]) -> str:
    word = EFFICIENCIES.get(text(row, "id"))
    return word.label if word else text(row, "id")


def _depth(row: Mapping[str, Any]) -> int:
    return min(max(int(number(row.get("depth")) or 0), 0), 3)


def _side(place: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
    sides = rows(row, "sides")
    return sides[place] if place < len(sides) else {}


def _value(place: int, row: Mapping[str, Any]) -> float | None:
    return number(_side(place, row).get("value"))


def _note(place: int, row: Mapping[str, Any]) -> str:
    """The range of the runs, or why there is no value."""
    side = _side(place, row)
    value, low, high = (number(side.get(key)) for key in ("value", "lowest", "highest"))
    if value is None:
        return text(side, "reason")
    return "" if low == high else f"{ratio(low)} to {ratio(high)}"


def _takeaway(found: list[Mapping[str, Any]]) -> str:
    """The factor that changed most among those that are no product of others."""
    leaves = [
        (abs(change), text(row, "id"), change)
        for row in found
        if (change := number(row.get("change"))) is not None
        and (word := EFFICIENCIES.get(text(row, "id"))) is not None
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
)
