"""Steps that take longer the longer the run lasts, and the function that grows with them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Floats
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.judging import MAIN, MEDIAN_ERROR
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function

PARTS = 4
FINER = 3  # parts of a quarter, in which growth is told from a change
LEAST_STEPS = 40
LEVEL = 2.5  # times the rise: between what grows evenly and what jumps
BEGINNING = np.array([1.5, -0.5])
"""Weights of the first two quarters in what the run began with: see `beginning`."""
SURE = 4.0  # standard errors that the last part is above the first


@dataclass(frozen=True)
class StepGrowth:
    """How steps grew."""

    first_s: float  # median of the slowest rank's step in the first quarter of the steps
    last_s: float  # the same in the last quarter
    # seconds of all steps beyond those at the beginning, with their waiting for CPUs
    lost_s: float
    error_s: float  # of these, the standard error
    # where most more time was seen in the last quarter than in the first; None unknown
    frame: Frame | None
    is_of_function: bool = False  # seconds are those of one function in a step
    levels_off: bool = False  # it rose early and has stayed since: it need not go on
    since: int | None = None  # the step with which it rose at once to another level; None grows
    ranks: tuple[int, ...] = ()  # those that work longer since, or alone do more and more
    shrinking: tuple[int, ...] = ()  # the others that work less and less meanwhile
    # how many times as long it takes with its waiting for CPUs, where `first_s` and `last_s` are
    # without: what it waits more, or less, in one quarter than in another one is no growth
    queued: float = 1.0
    is_first_known: bool = True  # whether `first_s` is more than nothing or a guess
    begin_s: float | None = None  # what `lost_s` is counted from: see `beginning`; None `first_s`

    @property
    def taken_s(self) -> tuple[float, float]:
        """Seconds of a step in the first quarter and in the last one, of which `lost_s` is told."""
        return self.first_s * self.queued, self.last_s * self.queued

    @property
    def times(self) -> float:
        """How many times as long a step takes in the last quarter; without end where not known."""
        return self.last_s / self.first_s if self.is_first_known else inf


def step_growth(results: Results) -> StepGrowth | None:
    """The growth of the steps; None where their median does not rise over the quarters of the run.

    It may stay for a while and falls in none, as far as chance lets that be seen, and does not rise
    at once. What differs from step to step by chance leaves the medians level, and so do a few long
    steps and a part of the run in which a rank was slower.
    """
    return growth_of(results, np.asarray(results.steps.max_seconds))


def growth_of(results: Results, seconds: Floats, *, rank: int | None = None) -> StepGrowth | None:
    """The growth of seconds by step, be it of the steps or of what one rank does in them."""
    if len(seconds) < LEAST_STEPS:
        return None
    parts, medians = _quarters(seconds)
    error = _error(parts)
    finer = np.array([np.median(part) for part in finer_parts(seconds)])
    is_rise = never_falls(medians, error) and not is_change(finer)
    if not is_rise or medians[-1] - medians[0] <= SURE * np.sqrt(2) * error:
        return None
    scale = results.steps.count / PARTS
    return StepGrowth(
        first_s=float(medians[0]),
        last_s=float(medians[-1]),
        lost_s=float((medians - beginning(medians)).sum() * scale),
        error_s=float(np.sqrt(1.0 + BEGINNING @ BEGINNING) * error * results.steps.count),
        frame=grown_frame(
            results,
            results.focus.start_ns + results.focus.length_ns // PARTS,
            results.focus.end_ns - results.focus.length_ns // PARTS,
            rank=rank,
        ),
        levels_off=levels_off(medians),
        ranks=() if rank is None else (rank,),
        is_first_known=bool(medians[0] > 0.0),
        begin_s=float(beginning(medians)[0]),
    )


def median_by_quarter(results: Results) -> tuple[float, ...]:
    """Seconds of the median step in each quarter of the steps; none where they are too few."""
    seconds = np.asarray(results.steps.max_seconds)
    if len(seconds) < LEAST_STEPS:
        return ()
    return tuple(_quarters(seconds)[1].tolist())


def later_rise(results: Results) -> float:
    """Seconds of all steps beyond the shortest quarter, if they get longer and longer since then.

    Something slowed the run down at first, and hides how long steps took then without it. 0 where
    the first quarter is the shortest, or steps do not get longer in each quarter since.
    """
    parts, medians = _quarters(np.asarray(results.steps.max_seconds))
    since = medians[int(medians.argmin()) :]
    if len(since) == PARTS or len(since) <= PARTS / 2:
        return 0.0
    is_rise = np.all(np.diff(since) > SURE * np.sqrt(2) * _error(parts))
    return float((since - since[0]).sum()) * results.steps.count / PARTS if is_rise else 0.0


def beginning(quarters: Floats) -> Floats:
    """What a step took before anything had grown, from what steps took in each quarter.

    The first quarter has grown, too: what grows evenly is half a quarter further than it began.
    Nothing takes less than no time. Quarters lie along the last axis, and one value is left of it.
    """
    grown = np.maximum(np.diff(quarters[..., :2]), 0.0)
    return np.asarray(np.maximum(quarters[..., :1] - grown / 2.0, 0.0))


def _quarters(seconds: Floats) -> tuple[list[Floats], Floats]:
    """Seconds by step in each quarter of the steps, and their medians."""
    parts = np.array_split(seconds, PARTS)
    return parts, np.array([np.median(part) for part in parts])


def _error(parts: Sequence[Floats]) -> float:
    """The standard error of the median of a part."""
    spread = np.median([np.median(np.abs(part - np.median(part))) for part in parts])
    return float(MEDIAN_ERROR * spread / np.sqrt(len(parts[0])))


def levels_off(parts: Floats) -> bool:
    """Whether most of the rise from the first part to the last came in the first half of it.

    Above the first of four parts, the sum is twice the rise of what grows evenly, less where it
    grows faster and faster, and three times that of what jumps after the first part.
    """
    return bool((parts - parts[0]).sum() >= LEVEL * (parts[-1] - parts[0]))


def finer_parts(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The quarters of the steps, each in parts."""
    quarters = np.array_split(values, PARTS)
    return [part for quarter in quarters for part in np.array_split(quarter, FINER)]


def never_falls(values: Floats, error: float) -> bool:
    """Whether values never fall, as far as their error lets one see."""
    return bool(np.all(np.diff(values) > -2.0 * error))


def is_change(finer: Floats) -> bool:
    """Whether most of the rise comes at once: another part of the program begins, nothing grows.

    Of a rise that takes a quarter of the run, no more than a third lies between two of the parts.
    """
    return bool(np.diff(finer).max() > MAIN * (finer[-FINER:].mean() - finer[:FINER].mean()))


def rises_evenly(finer: Floats) -> bool:
    """Whether an even rise explains values, which chance moves, better than two levels do.

    Where the second level begins is a number more to choose: by Schwarz's criterion (BIC) it has to
    leave less of the values' squares by the n-th root of their number n.
    """
    place = np.arange(len(finer))
    line = np.polyval(np.polyfit(place, finer, 1), place)
    levels = [
        np.where(place < split, finer[:split].mean(), finer[split:].mean())
        for split in range(1, len(finer))
    ]
    apart = [float(((finer - one) ** 2).sum()) for one in (line, *levels)]
    return bool(apart[0] < min(apart[1:]) * len(finer) ** (1.0 / len(finer)))


def grown_frame(
    results: Results, begin: int, end: int, *, before: float = 1.0, rank: int | None = None
) -> Frame | None:
    """The user's function that took most more time from a moment on than until an earlier one.

    `before` is how often the first part would fit into the second one; `rank` is the only one that
    is looked at.
    """
    labels, frames = results.labels, results.trace.frames
    if labels is None:
        return None
    focus = results.focus
    more: dict[Function, float] = defaultdict(float)
    lines: Counter[int] = Counter()
    for one, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        if rank not in (None, one.number):
            continue
        known = timeline.inside(focus) & (timeline.stacks >= 0)
        known &= ~IS_COMMUNICATION[timeline.accounts]
        starts = timeline.boundaries[:-1]
        for chosen, sign in ((known & (starts < begin), -before), (known & (starts >= end), 1.0)):
            places = labels.user_frame[timeline.stacks[chosen]]
            spent = np.bincount(places[places >= 0], timeline.lengths[chosen][places >= 0])
            for place in np.flatnonzero(spent).tolist():
                more[frames[place].key] += sign * int(spent[place])
                if sign > 0:
                    lines[place] += int(spent[place])
    if not more or max(more.values()) <= 0:
        return None
    function = max(more, key=lambda one: (more[one], one))
    own = [place for place in lines if frames[place].key == function]
    return frames[max(own, key=lambda place: lines[place])] if own else None
