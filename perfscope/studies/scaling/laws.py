"""Scaling laws fitted to the sizes of a study that can follow one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from perfscope.schema.scaling import Amdahl, ExtraP
from perfscope.structures import dataclass
from perfscope.studies.scaling import models
from perfscope.studies.scaling.extra_p import extra_p
from perfscope.studies.scaling.growth import STRONG, UNEVEN, Growth
from perfscope.studies.scaling.oversubscription import oversubscribed
from perfscope.studies.scaling.series import Point

UNEVEN_WORK = "the sizes did uneven work, so that their times follow no law of the size"
SHARED_FIRST = "at the smallest size threads share CPUs"
LEFT_OUT = ": sizes at which threads share CPUs do not count"
Law = TypeVar("Law", Amdahl, models.Model)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a study, smallest first, as far as laws are about them."""

    sizes: Sequence[int]  # on the axis
    shared: Sequence[bool]  # of each, whether threads share CPUs
    kind: str  # how the work grew: `strong`, `weak` or `uneven`


def sizes_of(points: Sequence[Point], grown: Growth) -> Sizes:
    """What laws have to know of the sizes of a study."""
    shared = [bool(oversubscribed(point)) for point in points]
    return Sizes([point.size for point in points], shared, grown.word)


@dataclass(frozen=True)
class _Series:
    """What a law is fitted to: a size and a time for each run that counts."""

    sizes: list[int]
    times: list[float]
    of: Sizes

    @property
    def largest(self) -> int:
        return self.of.sizes[-1]


def laws_of(
    of: Sizes, values: Sequence[Sequence[float | None]], counted: Sequence[bool]
) -> tuple[Amdahl | str, models.Model | str, ExtraP | str]:
    """The laws of a part: Amdahl's, the model and Extra-P's, or why there is none.

    Values are seconds in the part, by size and repeat. Of the sizes that are `counted`, those with
    shared CPUs are left out.
    """
    series = _series(of, values, counted)
    if isinstance(series, str):
        return series, series, series
    law: Amdahl | str = "Amdahl's law is about strong scaling"
    if of.kind == STRONG:
        fitted = models.amdahl(series.sizes, series.times, largest=series.largest)
        law = _told_why(fitted, of.shared)
    found = _model(series)
    if isinstance(found, str):
        return law, found, found
    beyond = [forecast.size for forecast in found.forecasts]
    if why := models.too_few(series.sizes, models.ALL_LAWS_SIZES, "Extra-P"):
        return law, found, why
    return law, found, extra_p(series.sizes, series.times, beyond, falls=of.kind == STRONG)


def model_of(of: Sizes, values: Sequence[Sequence[float]]) -> models.Model | str:
    """The model of a part that all sizes are of, alone; see `laws_of`."""
    series = _series(of, values, [True] * len(of.sizes))
    return series if isinstance(series, str) else _model(series)


def _series(
    of: Sizes, values: Sequence[Sequence[float | None]], counted: Sequence[bool]
) -> _Series | str:
    """The runs that can follow a law, or why there is none."""
    if of.kind == UNEVEN:
        return UNEVEN_WORK
    if of.shared[0]:
        return SHARED_FIRST
    pairs = [
        (size, value)
        for place, size in enumerate(of.sizes)
        for value in values[place]
        if counted[place] and not of.shared[place]
    ]
    known = [value for _, value in pairs if value is not None and value > 0]
    if len(known) < len(pairs):
        return "not every run has a time of it above zero"
    return _Series([size for size, _ in pairs], known, of)


def _model(series: _Series) -> models.Model | str:
    found = _told_why(
        models.model(series.sizes, series.times, largest=series.largest), series.of.shared
    )
    if isinstance(found, str):
        return found
    return replace(found, fitted=tuple(found.at(size) for size in series.of.sizes))


def _told_why(law: Law | str, shared: Sequence[bool]) -> Law | str:
    """The same law, or reason; sizes that were left out are part of a reason."""
    return f"{law}{LEFT_OUT}" if isinstance(law, str) and any(shared) else law
