"""The laws of a part of a scaling study, from the sizes that can follow one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from perfscope.studies.scaling import models
from perfscope.studies.scaling.extra_p import ExtraP, extra_p
from perfscope.studies.scaling.growth import UNEVEN, Growth
from perfscope.studies.scaling.oversubscription import crowded
from perfscope.studies.scaling.series import Point

UNEVEN_WORK = "the sizes did uneven work, so that their times follow no law of the size"
SHARED_FIRST = "at the smallest size threads share CPUs"
LEFT_OUT = ": sizes at which threads share CPUs do not count"
Law = TypeVar("Law", models.Amdahl, models.Model)


def laws_of(
    points: Sequence[Point],
    values: Sequence[Sequence[float | None]],
    grown: Growth,
    counted: Sequence[bool],
) -> tuple[models.Amdahl | str, models.Model | str, ExtraP | str]:
    """The laws of a part: Amdahl's, the model and Extra-P's, or why there is none.

    Args:
        points: smallest first.
        values: seconds in the part, by point and repeat.
        grown: how the work grew.
        counted: which points are of the part at all; those with shared CPUs are left out of these.
    """
    shared = [bool(crowded(point)) for point in points]
    pairs = [
        (point.size, value)
        for place, point in enumerate(points)
        for value in values[place]
        if counted[place] and not shared[place]
    ]
    known = [value for _, value in pairs if value is not None and value > 0]
    reason = "" if len(known) == len(pairs) else "not every run has a time of it above zero"
    if grown.word == UNEVEN:
        reason = UNEVEN_WORK
    elif shared[0]:
        reason = SHARED_FIRST
    if reason:
        return reason, reason, reason
    sizes, largest = [size for size, _ in pairs], points[-1].size
    law: models.Amdahl | str = "Amdahl's law is about strong scaling"
    if grown.is_strong:
        law = _told_why(models.amdahl(sizes, known, largest=largest), shared)
    found = _told_why(models.model(sizes, known, largest=largest), shared)
    if isinstance(found, str):
        return law, found, found
    beyond = [forecast.size for forecast in found.forecasts]
    found = replace(found, fitted=tuple(found.at(point.size) for point in points))
    return law, found, extra_p(sizes, known, beyond, falls=grown.is_strong)


def _told_why(law: Law | str, shared: Sequence[bool]) -> Law | str:
    """The same law, or reason; sizes that were left out are part of a reason."""
    return f"{law}{LEFT_OUT}" if isinstance(law, str) and any(shared) else law
