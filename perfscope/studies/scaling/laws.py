"""The laws of a part of a scaling study, from the sizes that can follow one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from perfscope.schema.scaling import Amdahl, ExtraP
from perfscope.structures import dataclass
from perfscope.studies.scaling import models
from perfscope.studies.scaling.extra_p import extra_p
from perfscope.studies.scaling.growth import UNEVEN, Growth
from perfscope.studies.scaling.oversubscription import oversubscribed
from perfscope.studies.scaling.series import Point

UNEVEN_WORK = "the sizes did uneven work, so that their times follow no law of the size"
SHARED_FIRST = "at the smallest size threads share CPUs"
LEFT_OUT = ": sizes at which threads share CPUs do not count"
Law = TypeVar("Law", Amdahl, models.Model)


@dataclass(frozen=True)
class _Series:
    """What a law is fitted to: a size and a time for each run that counts."""

    sizes: list[int]
    times: list[float]
    points: Sequence[Point]
    shared: list[bool]  # by point, whether threads share CPUs

    @property
    def largest(self) -> int:
        return self.points[-1].size


def laws_of(
    points: Sequence[Point],
    values: Sequence[Sequence[float | None]],
    grown: Growth,
    counted: Sequence[bool],
) -> tuple[Amdahl | str, models.Model | str, ExtraP | str]:
    """The laws of a part: Amdahl's, the model and Extra-P's, or why there is none.

    Args:
        points: smallest first.
        values: seconds in the part, by point and repeat.
        grown: how the work grew.
        counted: which points are of the part at all; those with shared CPUs are left out of these.
    """
    series = _series(points, values, grown, counted)
    if isinstance(series, str):
        return series, series, series
    law: Amdahl | str = "Amdahl's law is about strong scaling"
    if grown.is_strong:
        fitted = models.amdahl(series.sizes, series.times, largest=series.largest)
        law = _told_why(fitted, series.shared)
    found = _model(series)
    if isinstance(found, str):
        return law, found, found
    beyond = [forecast.size for forecast in found.forecasts]
    return law, found, extra_p(series.sizes, series.times, beyond, falls=grown.is_strong)


def model_of(
    points: Sequence[Point], values: Sequence[Sequence[float]], grown: Growth
) -> models.Model | str:
    """The model of a part that all points are of, alone; see `laws_of`."""
    series = _series(points, values, grown, [True] * len(points))
    return series if isinstance(series, str) else _model(series)


def _series(
    points: Sequence[Point],
    values: Sequence[Sequence[float | None]],
    grown: Growth,
    counted: Sequence[bool],
) -> _Series | str:
    """The runs that can follow a law, or why there is none."""
    shared = [bool(oversubscribed(point)) for point in points]
    if grown.word == UNEVEN:
        return UNEVEN_WORK
    if shared[0]:
        return SHARED_FIRST
    pairs = [
        (point.size, value)
        for place, point in enumerate(points)
        for value in values[place]
        if counted[place] and not shared[place]
    ]
    known = [value for _, value in pairs if value is not None and value > 0]
    if len(known) < len(pairs):
        return "not every run has a time of it above zero"
    return _Series([size for size, _ in pairs], known, points, shared)


def _model(series: _Series) -> models.Model | str:
    found = _told_why(
        models.model(series.sizes, series.times, largest=series.largest), series.shared
    )
    if isinstance(found, str):
        return found
    return replace(found, fitted=tuple(found.at(point.size) for point in series.points))


def _told_why(law: Law | str, shared: Sequence[bool]) -> Law | str:
    """The same law, or reason; sizes that were left out are part of a reason."""
    return f"{law}{LEFT_OUT}" if isinstance(law, str) and any(shared) else law
