"""Did it become slower or faster, is that more than noise, and where did the time go?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.studies.common.measures import SHOWN, Measure, choose
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.statistics import (
    LEVEL,
    Difference,
    block_medians,
    compare_runs,
    holm,
    usable,
)
from perfscope.studies.common.student_t import student_quantile
from perfscope.studies.compare.differences import differences, different_programs, unlike
from perfscope.studies.compare.prediction_check import changes_reason, finding_changes, promise
from perfscope.studies.compare.sides import Side
from perfscope.studies.compare.waterfall import losses, waterfall

Json = dict[str, Any]
FACTOR = 1.02
"""Below it a difference is said to be none, however certain: 1 to 2 % come and go with the layout
of memory and the order of linking, and recording may cost 1 %; see docs/compare.md."""
POWER = 0.9
LEAST_STEPS = 20  # for an interval inside a run


class Answer(Enum):
    """What a comparison says of a side against the first one."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"  # the whole interval lies within the factor
    UNCLEAR = "unclear"  # the interval holds both no difference and one beyond the factor
    UNKNOWN = "unknown"  # too few runs to say anything


@dataclass(frozen=True)
class Judged:
    """A side against the first one.

    Attributes:
        answer: what can be said.
        difference: of the measure's values, after / before; p after correction for several sides.
        slowdown: the same ratio with larger meaning slower, whichever way the measure counts.
    """

    answer: Answer
    difference: Difference
    slowdown: float | None


def judge_all(sides: Sequence[Side], measure: Measure, *, factor: float) -> tuple[Judged, ...]:
    """Each side after the first against it: slower or faster only beyond noise and the factor.

    Args:
        sides: the first is what the others are compared with; for several p is raised by Holm.
        measure: what is compared.
        factor: at least 1; what a difference must reach to be called one.
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


def body(sides: Sequence[Side], *, measure: Measure | None, factor: float) -> Json:
    """The `compare` object of study.json.

    Args:
        sides: at least two, in the order in which they are shown.
        measure: what is judged; None chooses, see `measures.choose`.
        factor: what a difference must reach to be called one.
    """
    every = [run for side in sides for run in side.runs]
    chosen, why = (measure, "it was asked for") if measure is not None else choose(every)
    judged = judge_all(sides, chosen, factor=factor)
    return {
        "sides": _sides(sides),
        "unit": {
            "id": chosen.id,
            "label": chosen.label,
            "unit": chosen.unit,
            "is_lower_better": chosen.is_lower_better,
            "why": why,
        },
        "factor": factor,
        "level": LEVEL,
        "unlike": unlike(sides, chosen),
        "differences": differences(sides),
        "comparisons": [
            _comparison(sides[0], side, found, chosen)
            for side, found in zip(sides[1:], judged, strict=True)
        ],
        "measures": [_measure(sides, shown) for shown in _shown(chosen)],
        "efficiencies": [
            _efficiency(sides, factor.id, factor.level) for factor in EFFICIENCIES.values()
        ],
        "waterfall": waterfall(sides),
        "losses": losses(sides),
        "finding_changes": finding_changes(sides),
        "finding_changes_reason": changes_reason(sides) or None,
    }


def _sides(sides: Sequence[Side]) -> list[Json]:
    rows, start = [], 0
    for side in sides:
        rows.append(side.as_json(start))
        start += len(side.all_runs)
    return rows


def _shown(chosen: Measure) -> tuple[Measure, ...]:
    others = tuple(measure for measure in SHOWN if measure.id != chosen.id)
    return (chosen, *others)


def _comparison(before: Side, after: Side, found: Judged, measure: Measure) -> Json:
    difference = found.difference
    return {
        "side": after.label,
        "against": before.label,
        "answer": found.answer.value,
        "before": _spread(measure.values(before.runs)),
        "after": _spread(measure.values(after.runs)),
        "ratio": difference.ratio,
        "interval": list(difference.interval) if difference.interval else None,
        "p": difference.p,
        "method": difference.method.value,
        "counts": list(difference.counts),
        "reason": difference.reason
        and (measure.reason((*before.runs, *after.runs)) or difference.reason),
        "slowdown": found.slowdown,
        "detectable": _detectable(measure.values(before.runs), measure.values(after.runs)),
        "within_runs": _within_runs(before, after) if found.answer is Answer.UNKNOWN else None,
        "promise": None if different_programs((before, after)) else promise(before, after),
    }


def _spread(values: Sequence[float | None]) -> Json:
    """Values of the repeats, and their median, lowest and highest; None where no run has any."""
    known = usable(values)
    return {
        "values": list(values),
        "median": float(np.median(known)) if len(known) else None,
        "lowest": float(known.min()) if len(known) else None,
        "highest": float(known.max()) if len(known) else None,
    }


def _detectable(before: Sequence[float | None], after: Sequence[float | None]) -> float | None:
    """The smallest slow-down, as a share, that such runs would show 9 times in 10.

    By the power of Student's t with the spread seen; it is about right for the rank test too.
    """
    a, b = np.log(usable(before)), np.log(usable(after))
    degrees = len(a) + len(b) - 2
    if min(len(a), len(b)) < 2:
        return None
    squares = float(np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2))
    error = math.sqrt(squares / degrees * (1 / len(a) + 1 / len(b)))
    reach = student_quantile(1 - LEVEL / 2, degrees) + student_quantile(POWER, degrees)
    return math.expm1(min(reach * error, 700.0))


def _within_runs(before: Side, after: Side) -> Json | None:
    """What the steps of the first run of each side say of the two runs, not of the two sides."""
    if not (before.runs and after.runs):
        return None
    a, b = _step_seconds(before.runs[0]), _step_seconds(after.runs[0])
    if min(len(a), len(b)) < LEAST_STEPS:
        return None
    ratios = block_medians(b, seed=2) / block_medians(a, seed=1)
    low, high = np.quantile(ratios, [LEVEL / 2, 1 - LEVEL / 2])
    return {
        "ratio": float(np.median(b) / np.median(a)),
        "interval": [float(low), float(high)],
        "steps": [len(a), len(b)],
    }


def _step_seconds(run: StudyRun) -> list[float]:
    return [value for value in run.result.steps.max_seconds if value > 0]


def _measure(sides: Sequence[Side], measure: Measure) -> Json:
    """One row of the table of all measures; only the judged one has a verdict."""
    first = measure.values(sides[0].runs)
    changes = [compare_runs(first, measure.values(side.runs)) for side in sides[1:]]
    return {
        "id": measure.id,
        "label": measure.label,
        "unit": measure.unit,
        "is_lower_better": measure.is_lower_better,
        "sides": [_spread(measure.values(side.runs)) for side in sides],
        "ratios": [change.ratio for change in changes],
        "intervals": [list(c.interval) if c.interval else None for c in changes],
        "reason": measure.reason([run for side in sides for run in side.runs]) or None,
    }


def _efficiency(sides: Sequence[Side], name: str, depth: int) -> Json:
    """One efficiency of every side: the median of its runs, or why there is none."""
    rows = []
    for side in sides:
        figures = [run.metric(name) for run in side.runs]
        known = [figure.value for figure in figures if figure.value is not None]
        reason = next((figure.reason for figure in figures if figure.value is None), None)
        rows.append(
            {
                "value": float(np.median(known)) if known else None,
                "lowest": min(known, default=None),
                "highest": max(known, default=None),
                "reason": None if known else reason or "no run of this side counts",
            }
        )
    first, last = rows[0]["value"], rows[-1]["value"]
    change = None if first is None or last is None else float(last) - float(first)
    return {"id": name, "depth": depth, "sides": rows, "change": change}
