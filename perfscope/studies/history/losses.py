"""What the time was lost to at each point of a history, and where that changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from perfscope.schema.history import LossChange, LossTrend
from perfscope.studies.common import spent
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.spent import LEAST_SHARE, MOST_LOSSES
from perfscope.studies.history.change_points import Change, trend


def loss_series(points: Sequence[Sequence[StudyRun]], *, factor: float) -> tuple[LossTrend, ...]:
    """Training work first, then the losses that are largest anywhere; empty without accounts."""
    found = [[pieces for run in runs if (pieces := _pieces(run))] for runs in points]
    known = [place for place, runs in enumerate(found) if runs]
    if not known:
        return ()
    labels = {name: part.label for runs in found for own in runs for name, part in own.items()}
    values = {
        name: [_median(found[place], name) if found[place] else None for place in range(len(found))]
        for name in labels
    }
    wholes = [sum(of[place] or 0.0 for of in values.values()) for place in known]
    whole_s = float(np.median(wholes))
    rows = [_series(name, labels[name], values[name], whole_s, factor) for name in labels]
    training, *losses = rows
    told = [row for row in losses if _most(row) >= LEAST_SHARE * whole_s]
    return (training, *sorted(told, key=lambda row: -_most(row))[:MOST_LOSSES])


def _pieces(run: StudyRun) -> Mapping[str, spent.Spent]:
    """By id what a mean rank spent its time on."""
    return {
        part.id: replace(part, seconds=run.of_mean_rank(part.seconds)) for part in spent.losses(run)
    }


def _median(runs: Sequence[Mapping[str, spent.Spent]], name: str) -> float:
    return float(np.median([own[name].seconds if name in own else 0.0 for own in runs]))


def _most(row: LossTrend) -> float:
    return max(value for value in row.values if value is not None)


def _series(
    name: str, label: str, values: Sequence[float | None], whole_s: float, factor: float
) -> LossTrend:
    """One loss, whose changes count by what they are of the whole run.

    More training work is no progress either.
    """
    changes, levels = trend(values, factor=factor, base=whole_s)
    told = tuple(
        LossChange(one.at, one.before, one.after, one.p, is_worse=one.after > one.before)
        for one in changes
    )
    return LossTrend(name, label, tuple(values), told, levels)


def with_last_change(rows: Sequence[LossTrend], changes: Sequence[Change]) -> str:
    """What changed most where a trend did last, in words; "" where nothing did."""
    near = [
        (row, one)
        for row in rows
        for one in row.changes
        if changes and abs(one.at - changes[-1].at) <= 1
    ]
    if not near:
        return ""
    row, one = max(near, key=lambda item: abs(item[1].after - item[1].before))
    more = one.after - one.before
    return f"{row.label}, {abs(more):.3g} s {'more' if more > 0 else 'less'} a rank"
