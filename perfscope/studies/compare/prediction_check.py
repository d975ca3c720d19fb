"""Findings that went and came, and what was predicted for them beside what was obtained."""

from collections.abc import Sequence
from statistics import median
from typing import get_args

from perfscope.schema.compare import (
    Change,
    FindingChange,
    PredictedGain,
    PredictedGains,
    RunsWithIt,
)
from perfscope.schema.enums import Basis, Status
from perfscope.schema.findings import FindingRow
from perfscope.studies.common.run import StudyRun
from perfscope.studies.compare.sides import Side

OPEN = (Status.FAIL, Status.WARN)
NO_GAIN = "no finding of the first side that is gone had a predicted gain"


def changes_reason(sides: Sequence[Side]) -> str:
    """Why it cannot be said which findings went or came, "" when it can."""
    empty = [side.label for side in (sides[0], sides[-1]) if not side.runs]
    return f"no run of {' and '.join(empty)} counts" if empty else ""


def finding_changes(sides: Sequence[Side]) -> tuple[FindingChange, ...]:
    """Every finding that stands on a side: on how many runs of each, and whether it went or came.

    Empty where the first or the last side has no run that counts, see `changes_reason`: a crash
    cures nothing.

    A finding stands on a side when at least half of the side's runs have it as fail or warn.
    `change` compares the first side with the last: `gone`, `new`, `stayed`, or `between` for one
    that stands on neither.
    """
    if changes_reason(sides):
        return ()
    names: dict[str, FindingRow] = {}
    for side in sides:
        for run in side.runs:
            for row in run.result.findings:
                if row.status in OPEN:
                    names.setdefault(row.id, row)
    found = []
    for name, row in names.items():
        counts = [sum(_is_open(run, name) for run in side.runs) for side in sides]
        stands = [_stands(side, name) for side in sides]
        if any(stands):
            found.append(
                FindingChange(
                    name,
                    row.title,
                    _change(first=stands[0], last=stands[-1]),
                    tuple(
                        RunsWithIt(count, len(side.runs))
                        for count, side in zip(counts, sides, strict=True)
                    ),
                )
            )
    order = get_args(Change)
    return tuple(sorted(found, key=lambda row: (order.index(row.change), row.id)))


def _change(*, first: bool, last: bool) -> Change:
    if first and last:
        return "stayed"
    if first:
        return "gone"
    return "new" if last else "between"


def predicted_gains(before: Side, after: Side) -> PredictedGains | None:
    """What the findings of `before` predicted beside what `after` gave back; None without gains."""
    if not (before.runs and after.runs):
        return None
    rows = _rows(before, after)
    if not rows:
        return None
    gone = [row for row in rows if row.gone]
    predicted, interval, reason = _together(before, gone)
    pairs = [_obtained(a, b) for a in before.runs for b in after.runs]
    obtained = median(pairs)
    error = None
    if predicted is not None and obtained > 0:
        error = (predicted - obtained) / obtained
    return PredictedGains(
        rows=rows,
        predicted_s=predicted,
        predicted_interval_s=interval,
        reason=reason,
        obtained_s=obtained,
        obtained_range_s=(min(pairs), max(pairs)),
        relative_error=error,
    )


def _rows(before: Side, after: Side) -> tuple[PredictedGain, ...]:
    names: dict[str, list[FindingRow]] = {}
    for run in before.runs:
        for row in run.result.findings:
            if row.status in OPEN and row.gain_s is not None:
                names.setdefault(row.id, []).append(row)
    rows = [
        PredictedGain(
            id=name,
            title=found[0].title,
            gone=not _stands(after, name),
            predicted_s=median(row.gain_s or 0.0 for row in found),
            interval_s=_median_interval(found),
            basis=found[0].gain_basis,
        )
        for name, found in names.items()
        if _stands(before, name)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.predicted_s, row.id)))


def _together(
    before: Side, gone: Sequence[PredictedGain]
) -> tuple[float | None, tuple[float, float] | None, str | None]:
    """What the findings that are gone predicted together: gains overlap and are not added up."""
    replayed = [row for row in gone if row.basis is Basis.REPLAY]
    if not gone:
        return None, None, NO_GAIN
    if len(replayed) != len(gone):
        return None, None, "a gain is an upper bound only, as it could not be replayed"
    if len(replayed) == 1:
        return replayed[0].predicted_s, replayed[0].interval_s, None
    names = {row.id for row in gone}
    combined = [
        value
        for run in before.runs
        if set(run.result.verdict.top) == names
        and _is_whole(run, names)
        and (value := run.result.verdict.combined_gain_s) is not None
    ]
    if len(combined) * 2 > len(before.runs):
        return median(combined), None, None
    return None, None, "gains overlap, and these were not replayed together"


def _is_whole(run: StudyRun, names: set[str]) -> bool:
    """Whether the first actions, which were replayed together, save all that the faults cost."""
    return all(
        row.first_action is None or row.first_action.gain_s == row.gain_s
        for row in run.result.findings
        if row.id in names
    )


def _median_interval(found: Sequence[FindingRow]) -> tuple[float, float] | None:
    known = [row.gain_interval_s for row in found if row.gain_interval_s is not None]
    if len(known) < len(found):
        return None
    return median(low for low, _ in known), median(high for _, high in known)


def _obtained(before: StudyRun, after: StudyRun) -> float:
    first, last = before.throughput.steps, after.throughput.steps
    scale = first / last if first and last else 1.0
    return before.focus_s - after.focus_s * scale


def _is_open(run: StudyRun, name: str) -> bool:
    return any(row.id == name and row.status in OPEN for row in run.result.findings)


def _stands(side: Side, name: str) -> bool:
    count = sum(_is_open(run, name) for run in side.runs)
    return count > 0 and count * 2 >= len(side.runs)
