"""What comes again after as many events or as much work each time, and what does so by chance."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.nesting import MOST_EVENTS

MIN_PERIODS = 5
"""Fewer repetitions are no pattern."""

OFTEN = 4 * MIN_PERIODS
"""Distances of so many tell whether they are by lot, if they vary much."""

NO_WORK = 0.04
"""Of the work behind the last of some equal events: with less between them they are one."""

LITTLE = 0.1
"""Of the bytes, the work or the number of something: what has less is no more than a part of it."""

LIKE_ITSELF = 0.6
"""Of the events, those in what repeats; of periods, those that are alike."""

NEAR_BEST = 0.9
"""Of the best period's likeness: a shorter one that has less leaves something unexplained."""

SPREAD = 0.8
"""Of the median distance, the middle half of the distances; of events by chance it is more."""

CHANCE = 1.6
"""Kolmogorov's statistic, which chance exceeds once in a hundred times: below, events may be so."""

NONE: Ints = np.empty(0, np.int64)


def longest_of(lengths: Ints | Floats) -> tuple[int, int]:
    """After how many lengths the longest one comes back, and at which place; (0, 0): after none.

    The place is the same in more periods than chance would have it. Of many the first ones tell.
    """
    lengths = lengths[:MOST_EVENTS]
    most = len(lengths) // MIN_PERIODS
    tried = [n for n in range(2, most + 1) if outer_is_step(len(lengths) // n, n)]
    shares, places = [], []
    for every in tried:
        whole = lengths[: len(lengths) // every * every].reshape(-1, every)
        two = np.partition(whole, -2, axis=1)[:, -2:]
        alone = two[:, 1] > two[:, 0]  # where two are as long, neither is the longest
        longest = np.bincount(whole.argmax(axis=1)[alone], minlength=every)
        places.append(int(longest.argmax()))
        shares.append(float(longest.max()) / len(whole))
    best = max(shares, default=0.0)
    for every, share, place in zip(tried, shares, places, strict=True):
        if share >= max(LIKE_ITSELF, NEAR_BEST * best):
            periods = len(lengths) // every
            is_sure = periods * surprise(share, 1.0 / every) > 2.0 * np.log(len(lengths))
            return (every, place) if is_sure else (0, 0)
    return 0, 0


def are_by_lot(places: Ints) -> bool:
    """Whether places in a sequence may have been drawn by lot, by their distances alone.

    How many there are outside of them tells nothing: also what comes by lot may come for a while.
    """
    return len(places) < MIN_PERIODS or _statistic(np.diff(places)) < CHANCE


def by_chance(token: Ints) -> bool:
    """Whether events follow each other as if each had been drawn by lot."""
    often = np.flatnonzero(np.bincount(token) >= OFTEN).tolist()
    places = [np.flatnonzero(token == one) for one in often]
    spaced = [_statistic(np.diff(one), len(token) / len(one)) for one in places]
    return len(often) > 1 and max(spaced) < CHANCE


def outer_is_step(outer_times: int, inner_times: float) -> bool:
    """Of two loops, one in the other, whether a step is a turn of the outer one.

    Few parts in each of many steps, or few epochs of many steps each: the steps are the many.
    """
    return outer_times >= MIN_PERIODS and outer_times >= inner_times


def is_steady(distances: Ints) -> bool:
    """Whether most of the distances between marks are alike."""
    low, middle, high = np.percentile(distances, [25, 50, 75])
    return bool(high - low <= SPREAD * middle)


def surprise(share: float, expected: float) -> float:
    """How unlikely a share of many draws is, as Chernoff bounds it: exp(-n times this) at most."""
    rest = (1.0 - share) * np.log((1.0 - share) / (1.0 - expected)) if share < 1.0 else 0.0
    return float(share * np.log(share / expected) + rest)


def _statistic(apart: Ints, usual: float | None = None) -> float:
    """How far distances are from those of places drawn by lot, by Kolmogorov and Smirnov.

    Args:
        apart: the distances.
        usual: what they would be on average; None: what they are.
    """
    share = 1.0 / (np.mean(apart) if usual is None else usual)
    values, counts = np.unique(apart, return_counts=True)
    below = np.concatenate([[0.0], np.cumsum(counts) / len(apart)])
    by_lot = 1.0 - (1.0 - share) ** values
    before = 1.0 - (1.0 - share) ** (values - 1)
    most = max(np.abs(below[1:] - by_lot).max(), np.abs(below[:-1] - before).max())
    return float(most * np.sqrt(len(apart)))
