"""The POP table in the layout of the field: factors down, sizes across."""

from collections.abc import Sequence

from perfscope.report.formats import ratio
from perfscope.report.labels import focus_words, formula_words, useful_words
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import scaled
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.common import NO_REASON
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.scaling import PopRow, PopTable, ScalingResult
from perfscope.schema.study import Study

MEANINGS = {
    "global_efficiency": "What remains of the ideal speed-up: the product of all factors.",
    "computation_scalability": "How well the useful time of all ranks together stays constant.",
    "ipc_scalability": "Instructions per cycle relative to the smallest size.",
    "instruction_scalability": "Instructions executed at the smallest size over those at this one.",
    "frequency_scalability": "Clock frequency against the smallest size.",
}


def _context(study: Study) -> Context:
    found = scaled(study)
    pop = found.pop
    values = pop.rows[0].values if pop.rows else ()
    return {
        "takeaway": _takeaway(pop, found),
        "table": _table(pop, [found.size_label(size) for size in pop.sizes]),
        "meanings": [(row.label, text) for row in pop.rows if (text := _meaning(row))],
        "formula": formula_words(pop.formula),
        "useful": useful_words(values[0].useful or "") if values else "",
        "foa": focus_words(values[0].foa or "") if values else "",
        "counters_reason": pop.counters_reason,
    }


def _takeaway(pop: PopTable, found: ScalingResult) -> str:
    """The lowest factor at the largest size, of those that are no product of others."""
    if not pop.sizes:
        return ""
    deepest = [
        row
        for row, below in zip(pop.rows, [*pop.rows[1:], None], strict=True)
        if below is None or below.level <= row.level
    ]
    known = [(one, row.label) for row in deepest if (one := row.values[-1].value) is not None]
    if not known:
        return ""
    value, label = min(known)
    return f"Lowest factor with {found.size_label(pop.sizes[-1])}: {label.lower()}, {ratio(value)}"


def _table(pop: PopTable, sizes: Sequence[str]) -> Table:
    columns = (
        Column("Factor", "label", kind=Kind.TEXT, depth=lambda row: row.level, hint=_meaning),
        *(_size_column(label, place) for place, label in enumerate(sizes)),
    )
    return Table("pop-table", "POP efficiencies by size", columns, pop.rows, has_caption=False)


def factors_by_size(found: ScalingResult) -> Table:
    """Factors and speed-ups by their ids, with all that `scaling.csv` holds of each size."""
    of_points = ("ideal_speedup", "speedup", "efficiency", "throughput_efficiency")
    times = [point.time_s.median if point.time_s else None for point in found.points]
    rows = [
        *((row.id, *(metric.value for metric in row.values)) for row in found.pop.rows),
        *((name, *(getattr(point, name) for point in found.points)) for name in of_points),
        ("time_s", *times),
    ]
    sizes = [found.size_label(size) for size in found.pop.sizes]
    columns = [Column(name, place) for place, name in enumerate(["metric", *sizes])]
    return Table("scaling", "Efficiencies and speed-ups by size", columns, rows)


def _meaning(row: PopRow) -> str:
    factor = EFFICIENCIES.get(row.id)
    return factor.meaning if factor else MEANINGS.get(row.id, "")


def _size_column(label: str, place: int) -> Column:
    def reason(row: PopRow) -> str:
        found = row.values[place]
        return "" if found.is_measured else found.reason or NO_REASON

    def bounds(row: PopRow) -> str:
        found = row.spreads[place] if place < len(row.spreads) else None
        return " to ".join(map(ratio, found)) if found else ""

    def value(row: PopRow) -> float | None:
        return row.values[place].value

    return Column(label, value, ratio, Kind.BAND, note=Note(bounds), hint=reason)


SECTION = StudySection(
    "pop",
    "Efficiencies (POP)",
    "scaling_pop.html",
    _context,
    place=20,
    kinds=("scaling",),
    is_folded=True,
)
