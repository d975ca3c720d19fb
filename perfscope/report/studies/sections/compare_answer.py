"""Every number of the sides beside each other; the judged one first."""

from collections.abc import Sequence
from functools import partial

from perfscope.report.formats import decimal, quantity
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.text import bound
from perfscope.schema.compare import Answer, Compare, ComparedMeasure, Comparison
from perfscope.schema.study import Study
from perfscope.units import format_change, format_changes

ANSWERS = {
    Answer.SLOWER: StatusWord("✕", "Slower", "fail"),
    Answer.FASTER: StatusWord("✓", "Faster", "pass"),
    Answer.SAME: StatusWord("✓", "As fast", "pass"),
    Answer.UNCLEAR: StatusWord("i", "No significant difference", "info"),
    Answer.UNKNOWN: StatusWord("–", "Cannot tell", "none"),
}

LEAST_P = 1e-4
SCALED = {"s", "B"}
"""Units that numbers choose a multiple of: ms, MiB."""


def change(ratio: float | None) -> str:
    """A ratio as a change: `+4.9 %`."""
    return bound(format_change(ratio))


def probability(value: float) -> str:
    """A p-value: `= 0.03`, `< 0.0001`."""
    return f"= {value:.2g}" if value >= LEAST_P else f"< {LEAST_P:.4f}"


def interval(bounds: Sequence[float] | None) -> str:
    """An interval of a ratio as changes; "" when there is none."""
    return bound(format_changes(bounds)) if bounds else ""


def compared(study: Study) -> Compare:
    """What a comparison found."""
    assert study.compare is not None
    return study.compare


def side_labels(found: Compare) -> list[str]:
    """The labels of the sides."""
    return [side.label for side in found.sides]


def _context(study: Study) -> Context:
    found = compared(study)
    return {
        "answers": [_answer(row) for row in found.comparisons],
        "unlike": found.unlike,
        "left_out": left_out(study),
        "measures": measures(found),
        "absent": [
            (row.label, row.reason or "") for row in found.measures if not _is_measured(row)
        ],
        "unit": found.unit.label,
        "why": found.unit.why,
        "factor": decimal(found.factor),
    }


def _answer(row: Comparison) -> Context:
    within = row.within_runs
    return {
        "side": row.side,
        "against": row.against,
        "word": ANSWERS[row.answer],
        "change": change(row.ratio),
        "interval": interval(row.interval),
        "p": "" if row.p is None else probability(row.p),
        "counts": " and ".join(map(str, row.counts)),
        "reason": row.reason,
        "reach": ""
        if row.detectable is None or row.answer is not Answer.UNCLEAR
        else f"{100 * row.detectable:.0f}\u00a0%",
        "within": interval(within.interval) if within else "",
        "within_ratio": change(within.ratio if within else None),
    }


def left_out(study: Study) -> list[str]:
    """Which runs do not count, and why."""
    found, runs = compared(study), [run.label for run in study.runs]
    return [
        f"{runs[one.run] if one.run < len(runs) else 'a run'} ({side.label}): {one.reason}"
        for side in found.sides
        for one in side.left_out
    ]


def measures(found: Compare) -> Table:
    """What was measured of every side, and the changes from the first one."""
    sides = side_labels(found)
    titles = [f"Change, {side}" for side in sides[1:]] if len(sides) > 2 else ["Change"]
    values = (
        Column(side, partial(_typical, place), note=Note(partial(_range, place)))
        for place, side in enumerate(sides)
    )
    changes = (
        Column(
            title, partial(_change, place), note=Note(partial(_interval, place), is_everywhere=True)
        )
        for place, title in enumerate(titles)
    )
    better = Note(lambda row: f"{'lower' if row.is_lower_better else 'higher'} is better")
    return Table(
        "compared-measures",
        "What the runs of each side measured",
        (Column("Measure", _label, kind=Kind.TEXT, note=better), *values, *changes),
        [row for row in found.measures if _is_measured(row)],
        file="study.json",
        has_caption=False,
    )


def _is_measured(row: ComparedMeasure) -> bool:
    return any(side.typical is not None for side in row.sides) or not row.reason


def _label(row: ComparedMeasure) -> str:
    """A measure with its unit, unless each number has one of its own."""
    return row.label if row.unit in SCALED else f"{row.label}, {row.unit}"


def _written(value: float | None, unit: str) -> str:
    return quantity(value, unit if unit in SCALED else "")


def _typical(place: int, row: ComparedMeasure) -> str:
    return _written(row.sides[place].typical, row.unit)


def _range(place: int, row: ComparedMeasure) -> str:
    """The range of the runs; "" when they do not differ."""
    low, high = row.sides[place].lowest, row.sides[place].highest
    if low == high:
        return ""
    first, last = _written(low, row.unit), _written(high, row.unit)
    unit = last.removeprefix(last.split()[0])
    return "" if first == last else f"{first.removesuffix(unit)} to {last}"


def _change(place: int, row: ComparedMeasure) -> str:
    return change(row.ratios[place] if place < len(row.ratios) else None)


def _interval(place: int, row: ComparedMeasure) -> str:
    return interval(row.intervals[place] if place < len(row.intervals) else None)


SECTION = StudySection(
    "compared", "What was measured", "compare_answer.html", _context, place=20, kinds=("compare",)
)
