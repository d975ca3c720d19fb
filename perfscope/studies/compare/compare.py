"""Did it become slower or faster, is that more than noise, and where did the time go?"""

import math
from collections.abc import Collection, Sequence

import numpy as np

from perfscope.schema.compare import (
    Answer,
    Compare,
    ComparedEfficiency,
    ComparedMeasure,
    ComparedSide,
    Comparison,
    EfficiencyOfSide,
    Judge,
    Repeats,
    WithinRuns,
)
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.structures import dataclass
from perfscope.student_t import student_quantile
from perfscope.studies.common.measures import SHOWN, Measure, choose
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.statistics import (
    LEVEL,
    Difference,
    Method,
    block_medians,
    compare_runs,
    error_of_means,
    holm,
    usable,
)
from perfscope.studies.compare.differences import differences, different_programs, unlike
from perfscope.studies.compare.prediction_check import (
    changes_reason,
    finding_changes,
    predicted_gains,
)
from perfscope.studies.compare.sides import Side
from perfscope.studies.compare.waterfall import losses, waterfall

FACTOR = 1.02
"""Below it a difference is said to be none, however certain: 1 to 2 % come and go with the layout
of memory and the order of linking, and recording may cost 1 %; see docs/compare.md."""
POWER = 0.9
LEAST_STEPS = 20  # for an interval inside a run


@dataclass(frozen=True)
class Judged:
    """A side against the first one."""

    answer: Answer  # what can be said
    # of the measure's values, after / before; p after correction for several sides
    difference: Difference
    # the same ratio with larger meaning slower, whichever way the measure counts
    slowdown: float | None


def judge_all(sides: Sequence[Side], measure: Measure, *, factor: float) -> tuple[Judged, ...]:
    """Each side after the first against it: slower or faster only beyond noise and the factor.

    For several sides p is raised by Holm; `factor` is at least 1, and what a difference must reach
    to be called one.
    """
    found = [
        compare_runs(measure.values(sides[0].runs), measure.values(side.runs)) for side in sides[1:]
    ]
    corrected = holm([difference.p for difference in found])
    return tuple(
        _answered(difference, p, measure, factor)
        for difference, p in zip(found, corrected, strict=True)
    )


def _answered(found: Difference, p: float | None, measure: Measure, factor: float) -> Judged:
    found = Difference(
        found.ratio, found.interval, p, found.method, found.reason, found.counts, found.attainable_p
    )
    if found.ratio is None:
        return Judged(Answer.UNKNOWN, found, None)
    slowdown = found.ratio if measure.is_lower_better else 1 / found.ratio
    if p is None or found.interval is None:
        return Judged(Answer.UNKNOWN, found, slowdown)
    if found.is_significant and slowdown >= factor:
        return Judged(Answer.SLOWER, found, slowdown)
    if found.is_significant and slowdown <= 1 / factor:
        return Judged(Answer.FASTER, found, slowdown)
    low, high = found.interval
    within = 1 / factor <= low and high <= factor
    return Judged(Answer.SAME if within else Answer.UNCLEAR, found, slowdown)


def body(sides: Sequence[Side], *, measure: Measure | None, factor: float) -> Compare:
    """The `compare` object of study.json.

    There are at least two sides; a measure that is None is chosen by `measures.choose`.
    """
    every = [run for side in sides for run in side.runs]
    chosen, why = (measure, "it was asked for") if measure is not None else choose(every)
    judged = judge_all(sides, chosen, factor=factor)
    return Compare(
        sides=_sides(sides),
        unit=Judge(chosen.id, chosen.label, chosen.unit, chosen.is_lower_better, why),
        factor=factor,
        level=LEVEL,
        unlike=tuple(unlike(sides, chosen)),
        differences=differences(sides),
        comparisons=tuple(
            _comparison(sides[0], side, found, chosen)
            for side, found in zip(sides[1:], judged, strict=True)
        ),
        measures=tuple(_measure(sides, shown) for shown in _shown(chosen)),
        efficiencies=tuple(
            _efficiency(sides, factor.id, factor.level) for factor in EFFICIENCIES.values()
        ),
        waterfall=waterfall(sides),
        losses=losses(sides),
        finding_changes=finding_changes(sides),
        finding_changes_reason=changes_reason(sides) or None,
    )


def _sides(sides: Sequence[Side]) -> tuple[ComparedSide, ...]:
    rows, start = [], 0
    for side in sides:
        rows.append(side.row(start))
        start += len(side.all_runs)
    return tuple(rows)


def _shown(chosen: Measure) -> tuple[Measure, ...]:
    others = tuple(measure for measure in SHOWN if measure.id != chosen.id)
    return (chosen, *others)


def _comparison(before: Side, after: Side, found: Judged, measure: Measure) -> Comparison:
    difference = found.difference
    why = difference.reason
    return Comparison(
        side=after.label,
        against=before.label,
        answer=found.answer,
        before=spread(measure.values(before.runs), {difference.method}),
        after=spread(measure.values(after.runs), {difference.method}),
        ratio=difference.ratio,
        interval=difference.interval,
        p=difference.p,
        method=difference.method.value,
        counts=difference.counts,
        reason=why and (measure.reason((*before.runs, *after.runs)) or why),
        slowdown=found.slowdown,
        detectable=_detectable(measure.values(before.runs), measure.values(after.runs)),
        within_runs=_within_runs(before, after) if found.answer is Answer.UNKNOWN else None,
        prediction=None if different_programs((before, after)) else predicted_gains(before, after),
    )


def spread(values: Sequence[float | None], methods: Collection[Method]) -> Repeats:
    """Values of a side, which `methods` compare with those of others."""
    known = usable(values)
    middle = float(np.median(known)) if len(known) else None
    is_mean = len(known) and Method.STUDENT in methods
    return Repeats(
        tuple(values),
        math.exp(float(np.log(known).mean())) if is_mean else middle,
        middle,
        float(known.min()) if len(known) else None,
        float(known.max()) if len(known) else None,
    )


def _detectable(before: Sequence[float | None], after: Sequence[float | None]) -> float | None:
    """The smallest slow-down, as a share, that such runs would show 9 times in 10.

    By the power of Student's t with the spread seen; it is about right for the rank test too.
    """
    a, b = np.log(usable(before)), np.log(usable(after))
    degrees = len(a) + len(b) - 2
    if min(len(a), len(b)) < 2:
        return None
    reach = student_quantile(1 - LEVEL / 2, degrees) + student_quantile(POWER, degrees)
    return math.expm1(min(reach * error_of_means(a, b), 700.0))


def _within_runs(before: Side, after: Side) -> WithinRuns | None:
    if not (before.runs and after.runs):
        return None
    a, b = _step_seconds(before.runs[0]), _step_seconds(after.runs[0])
    if min(len(a), len(b)) < LEAST_STEPS:
        return None
    ratios = block_medians(b, seed=2) / block_medians(a, seed=1)
    low, high = np.quantile(ratios, [LEVEL / 2, 1 - LEVEL / 2])
    ratio = float(np.median(b) / np.median(a))
    return WithinRuns(ratio, (float(low), float(high)), (len(a), len(b)))


def _step_seconds(run: StudyRun) -> list[float]:
    return [value for value in run.result.steps.max_seconds if value > 0]


def _measure(sides: Sequence[Side], measure: Measure) -> ComparedMeasure:
    """One row of the table of all measures; only the judged one has a verdict."""
    first = measure.values(sides[0].runs)
    changes = [compare_runs(first, measure.values(side.runs)) for side in sides[1:]]
    return ComparedMeasure(
        id=measure.id,
        label=measure.label,
        unit=measure.unit,
        is_lower_better=measure.is_lower_better,
        sides=tuple(
            spread(measure.values(side.runs), {change.method for change in changes})
            for side in sides
        ),
        ratios=tuple(change.ratio for change in changes),
        intervals=tuple(change.interval for change in changes),
        reason=measure.reason([run for side in sides for run in side.runs]) or None,
    )


def _efficiency(sides: Sequence[Side], name: str, depth: int) -> ComparedEfficiency:
    """One efficiency of every side."""
    found = tuple(_of_side(side, name) for side in sides)
    first, last = found[0].value, found[-1].value
    change = None if first is None or last is None else last - first
    return ComparedEfficiency(name, depth, found, change)


def _of_side(side: Side, name: str) -> EfficiencyOfSide:
    figures = [run.metric(name) for run in side.runs]
    known = [figure.value for figure in figures if figure.value is not None]
    reason = next((figure.reason for figure in figures if figure.value is None), None)
    return EfficiencyOfSide(
        value=float(np.median(known)) if known else None,
        lowest=min(known, default=None),
        highest=max(known, default=None),
        reason=None if known else reason or "no run of this side counts",
    )
