"""What the time is lost to at each size, and by which law each loss grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from perfscope.studies.common import spent
from perfscope.studies.scaling.laws import laws_of

if TYPE_CHECKING:
    from perfscope.studies.common.run import StudyRun
    from perfscope.studies.scaling import models
    from perfscope.studies.scaling.growth import Growth
    from perfscope.studies.scaling.series import Point

MOST_LOSSES = 12
LEAST_SHARE = 0.005
"""Of the time of a mean rank: what is less at every size is not told."""


@dataclass(frozen=True)
class ScaledLoss:
    """Training work, or one loss: seconds of a mean rank at each size, medians over repeats.

    `shares` are of all its time without start-up and shutdown. `law` is a model of the seconds, or
    the reason why there is none.
    """

    id: str
    label: str
    seconds: tuple[float, ...]
    shares: tuple[float, ...]
    law: models.Model | str


def scaled_losses(points: Sequence[Point], grown: Growth) -> tuple[ScaledLoss, ...]:
    """Training work first, then the losses that are largest at the largest size.

    Empty where a run has no loss account.
    """
    found = [[_by_part(run) for run in point.runs] for point in points]
    if not all(parts for runs in found for parts in runs):
        return ()
    labels = {part.id: part.label for runs in found for parts in runs for part in parts.values()}
    rows = [_row(name, label, found, points, grown) for name, label in labels.items()]
    training, *losses = rows
    told = [row for row in losses if max(row.shares) >= LEAST_SHARE]
    return (training, *sorted(told, key=lambda row: -row.seconds[-1])[:MOST_LOSSES])


def _by_part(run: StudyRun) -> dict[str, spent.Spent]:
    return {part.id: part for part in spent.losses(run) if not part.is_once}


def _row(
    name: str,
    label: str,
    found: Sequence[Sequence[dict[str, spent.Spent]]],
    points: Sequence[Point],
    grown: Growth,
) -> ScaledLoss:
    values, shares = [], []
    for point, runs in zip(points, found, strict=True):
        own = [parts[name].seconds if name in parts else 0.0 for parts in runs]
        whole = [sum(part.seconds for part in parts.values()) for parts in runs]
        values.append(
            [one / max(run.recorded_ranks, 1) for one, run in zip(own, point.runs, strict=True)]
        )
        shares.append(median(one / of if of else 0.0 for one, of in zip(own, whole, strict=True)))
    law = laws_of(points, values, grown, [True] * len(points))[1]
    return ScaledLoss(name, label, tuple(median(group) for group in values), tuple(shares), law)
