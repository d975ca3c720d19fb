"""The difference in time between two sides, part by part."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from perfscope.schema.compare import ChangedPart, Waterfall, WaterfallStep
from perfscope.studies.common import spent
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.spent import Spent
from perfscope.studies.compare.sides import Side

LEAST_SHARE = 0.005
REST = "rest"


def waterfall(sides: Sequence[Side]) -> Waterfall:
    """The change of every account of the time ledger from each side to the next."""
    return decomposed(sides, spent.accounts, "a run has no time ledger")


def losses(sides: Sequence[Side]) -> Waterfall:
    """The change of training work and of everything that time was lost to, from side to side."""
    return decomposed(sides, spent.losses, "a run has no loss account: analyze it anew")


def decomposed(
    sides: Sequence[Side], parts_of: Callable[[StudyRun], Sequence[Spent]], missing: str
) -> Waterfall:
    """The change of each part of the time from each side to the next, in seconds of a mean rank.

    Means over ranks and over repeats, because means add up: the parts of a step are exactly the
    difference of the totals. Where the sides did different numbers of steps all is per step, and
    what happens once a run is left out. What changed by less than `LEAST_SHARE` of the larger total
    is one part, `rest`; errors are None with one run on a side.

    `parts_of` gives a partition of the time of a run, empty where it has none; `missing` says why.
    """
    if any(not side.runs for side in sides):
        return Waterfall(reason="a side has no run that counts", per_step=False, steps=())
    found = [[parts_of(run) for run in side.runs] for side in sides]
    if any(not sum(part.seconds for part in run) for side in found for run in side):
        return Waterfall(reason=missing, per_step=False, steps=())
    counts = {run.throughput.steps for side in sides for run in side.runs}
    per_step = len(counts) > 1 and min(counts) > 0
    labels = {
        part.id: part.label
        for side in found
        for run in side
        for part in run
        if not (per_step and part.is_once)
    }
    values = [
        _by_part(side, of, labels, per_step=per_step) for side, of in zip(sides, found, strict=True)
    ]
    totals = [float(sum(np.mean(v) for v in of.values())) for of in values]
    return Waterfall(
        reason="",
        per_step=per_step,
        totals_s=tuple(totals),
        speedups=tuple(totals[0] / total if total else None for total in totals),
        steps=tuple(
            WaterfallStep(n, n + 1, _parts(labels, values[n], values[n + 1]))
            for n in range(len(sides) - 1)
        ),
    )


def _by_part(
    side: Side, runs: Sequence[Sequence[Spent]], labels: Mapping[str, str], *, per_step: bool
) -> dict[str, list[float]]:
    """Seconds of a mean rank in each part, one for each run of a side."""
    found = {name: [0.0] * len(runs) for name in labels}
    for place, (run, parts) in enumerate(zip(side.runs, runs, strict=True)):
        times = run.throughput.steps if per_step else 1
        for part in parts:
            if part.id in found:
                found[part.id][place] = run.of_mean_rank(part.seconds) / times
    return found


def _parts(
    labels: dict[str, str], before: dict[str, list[float]], after: dict[str, list[float]]
) -> tuple[ChangedPart, ...]:
    """The changes of one step, with the small ones put together."""
    totals = [float(sum(np.mean(v) for v in of.values())) for of in (before, after)]
    least = LEAST_SHARE * max(totals)
    changes = {name: abs(float(np.mean(after[name]) - np.mean(before[name]))) for name in labels}
    large = sorted((n for n in labels if changes[n] >= least), key=lambda n: -changes[n])
    small = [n for n in labels if changes[n] < least and (any(before[n]) or any(after[n]))]
    parts = [_part(name, labels[name], before[name], after[name]) for name in large]
    if small:
        sums = [
            [sum(v) for v in zip(*(of[n] for n in small), strict=True)] for of in (before, after)
        ]
        parts.append(_part(REST, "All others", *sums))
    return tuple(parts)


def _part(name: str, label: str, before: Sequence[float], after: Sequence[float]) -> ChangedPart:
    return ChangedPart(
        id=name,
        label=label,
        from_s=float(np.mean(before)),
        to_s=float(np.mean(after)),
        delta_s=float(np.mean(after) - np.mean(before)),
        error_s=_two_errors(before, after),
    )


def _two_errors(before: Sequence[float], after: Sequence[float]) -> float | None:
    if min(len(before), len(after)) < 2:
        return None
    variance = sum(float(np.var(v, ddof=1)) / len(v) for v in (before, after))
    return 2 * math.sqrt(variance)
