"""Findings that went and came, and what was predicted for them beside what was obtained."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from perfscope.report.formats import percent, seconds
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import compared, side_labels
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.text import shortened
from perfscope.schema.compare import Change, Compare, Comparison, FindingChange, PredictedGains
from perfscope.schema.enums import Basis
from perfscope.schema.study import Study

CHANGES: dict[Change, StatusWord] = {
    "gone": StatusWord("✓", "Gone", "pass"),
    "new": StatusWord("✕", "New", "fail"),
    "stayed": StatusWord("!", "Stayed", "warn"),
    "between": StatusWord("i", "Between", "info"),
}
LONGEST_TITLE = 140
BASES = {Basis.REPLAY: "replayed", Basis.UPPER_BOUND: "upper bound"}


def _context(study: Study) -> Context:
    found = compared(study)
    made = [(row, row.prediction) for row in found.comparisons if row.prediction]
    return {
        "changes": changes(found),
        "takeaway": _takeaway(found.finding_changes),
        "reason": found.finding_changes_reason,
        "predictions": [_prediction(place, *one) for place, one in enumerate(made, start=1)],
    }


def changes(found: Compare) -> Table:
    """Which findings each side has."""
    return Table(
        "predictions-changes",
        "Findings of the sides",
        _columns(side_labels(found)),
        found.finding_changes,
        file="study.json",
        has_caption=False,
    )


def predictions(found: Compare) -> list[str]:
    """What was predicted and what obtained, in a sentence for each side of which both are known."""
    return [told for row in found.comparisons if (told := predicted(row))]


def predicted(row: Comparison) -> str:
    """What was predicted for a side and what it obtained; "" where one of them is not known."""
    return _sentence(row, row.prediction) if row.prediction else ""


def _takeaway(found: Sequence[FindingChange]) -> str:
    """How many findings went, stayed and came."""
    counts = Counter(row.change for row in found)
    return ", ".join(
        f"{counts[change]} {word.word.lower()}"
        for change, word in CHANGES.items()
        if counts[change]
    )


def _columns(sides: list[str]) -> tuple[Column, ...]:
    return (
        Column("Finding", lambda row: row.title or row.id, None, Kind.TEXT, LONGEST_TITLE),
        Column("Change", lambda row: CHANGES[row.change], kind=Kind.SIGN),
        *(Column(side, partial(_count, place)) for place, side in enumerate(sides)),
    )


def _count(place: int, row: FindingChange) -> str:
    count, of = row.sides[place].runs_with_it, row.sides[place].runs
    if of == 1:
        return "yes" if count else "no"
    return f"{count} of {of} runs"


def _prediction(place: int, row: Comparison, found: PredictedGains) -> Context:
    return {
        "side": row.side,
        "against": row.against,
        "table": Table(
            f"predictions-table-{place}",
            f"Predicted from {row.against}, measured in {row.side}",
            PROMISES,
            found.rows,
            file="study.json",
            has_caption=False,
        ),
        "sentence": _sentence(row, found),
        "reason": found.reason,
        "obtained": seconds(found.obtained_s),
        "range": _interval(found.obtained_range_s),
    }


def _sentence(row: Comparison, found: PredictedGains) -> str:
    """What was predicted for the findings that are gone, else for the only one, which stayed."""
    predicted, bounds = found.predicted_s, found.predicted_interval_s
    of = "what is gone"
    if predicted is None and len(found.rows) == 1 and not found.rows[0].gone:
        [one] = found.rows
        predicted, bounds = one.predicted_s, one.interval_s
        of = f"“{shortened(one.title, LONGEST_TITLE)}”, which is still found"
    if predicted is None:
        return ""
    interval = f" ({told})" if (told := _interval(bounds)) else ""
    reach = _interval(found.obtained_range_s)
    told = f"Predicted saving {seconds(predicted)}{interval} for {of}; measured in {row.side}: "
    told += seconds(found.obtained_s) + (f" ({reach} over all pairs of runs)" if reach else "")
    error = found.relative_error
    if error is None:
        return f"{told}."
    return f"{told}; the prediction is off by {'+' if error > 0 else ''}{percent(error)}."


def _interval(bounds: tuple[float, float] | None) -> str:
    return " to ".join(map(seconds, bounds)) if bounds and bounds[0] != bounds[1] else ""


PROMISES = (
    Column("Finding", "title", kind=Kind.TEXT, longest=LONGEST_TITLE),
    Column("State", lambda row: CHANGES["gone" if row.gone else "stayed"], kind=Kind.SIGN),
    Column(
        "Predicted saving",
        "predicted_s",
        seconds,
        note=Note(lambda row: _interval(row.interval_s)),
    ),
    Column("Basis", lambda row: BASES.get(row.basis, "")),
)
SECTION = StudySection(
    "predictions",
    "Findings, predicted and obtained",
    "compare_findings.html",
    _context,
    place=50,
    kinds=("compare",),
    is_folded=True,
)
