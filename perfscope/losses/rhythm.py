"""Whether ranks are late in turn, each in steps of its own that come back after as many steps."""

from math import sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LONGEST = 64
"""Steps after which it must come back."""

FEWEST_TIMES = 8
"""That each step of the period must come."""

NO_CHANCE = 5.0
"""Standard deviations, beyond which chance is once in three million times; 64 periods are tried."""

OWN = 0.75
"""Of what comes back at a place of the period, that one rank must cause."""


def in_turn(charged: Floats) -> float:
    """The share of a loss that ranks cause in turn, in steps of their own; 0 where they do not.

    Steps are folded by each period that there may be. By chance, places of the period have the same
    distribution: the test is that of Kruskal and Wallis, on ranks of the values, so that single
    long waits do not decide.

    Args:
        charged: the loss by step and by the rank that causes it, shape (steps, ranks).
    """
    steps, ranks = charged.shape
    orders = [_orders(charged[:, rank]) for rank in range(ranks)]
    best, found = NO_CHANCE, 0
    for every in range(2, min(LONGEST, steps // FEWEST_TIMES) + 1):
        places = np.arange(steps) % every
        sure = min(sorted(_deviations(one, places, every) for one in orders)[-2:], default=0.0)
        if sure > best:
            best, found = sure, every
    return _share_in_turn(charged, found) if found and ranks > 1 else 0.0


def _orders(values: Floats) -> Floats:
    """The place of each value among all, the mean of the places of equal ones."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle: Floats = (ends - (counts - 1) / 2)[inverse]
    return middle


def _deviations(orders: Floats, places: Ints, every: int) -> float:
    """How far the places differ beyond chance, in standard deviations (Wilson and Hilferty)."""
    spread = float(orders.var())
    if not spread:
        return 0.0
    counts = np.bincount(places, minlength=every)
    means = np.bincount(places, orders, every) / counts
    statistic = float((counts * (means - orders.mean()) ** 2).sum()) / spread
    free = every - 1
    variance = 2 / (9 * free)
    return float(((statistic / free) ** (1 / 3) - (1 - variance)) / sqrt(variance))


def _share_in_turn(charged: Floats, every: int) -> float:
    """Of a loss, what comes back beyond the usual place, where each rank has places of its own."""
    places = np.arange(len(charged)) % every
    counts = np.bincount(places, minlength=every)
    sums = [np.bincount(places, column, every) for column in charged.T]
    means = np.stack(sums, axis=1) / counts[:, None]
    usual = np.sort(means, axis=0)[(every - 1) // 2]
    beyond = np.maximum(means - usual, 0.0) * counts[:, None]
    whole, by_rank = float(beyond.sum()), beyond.sum(axis=0)
    is_own = beyond.max(axis=1).sum() >= OWN * whole
    is_of_several = whole > 0 and float(by_rank.max()) <= OWN * whole
    return whole / float(charged.sum()) if is_own and is_of_several else 0.0
