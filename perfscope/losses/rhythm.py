"""Whether ranks are late in turn, each in steps of its own that come back after as many steps."""

from math import sqrt

import numpy as np

from perfscope.arrays import Floats

LONGEST = 64
"""Steps after which it must come back."""

FEWEST_TIMES = 8
"""That each step of the period must come."""

NO_CHANCE = 5.0
"""Standard deviations, beyond which chance is once in three million times; 64 periods are tried."""

MOST_RANKS = 16
"""Those that cause most: two of them tell the period, by which the loss of all is then judged."""

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
    if ranks < 2:
        return 0.0
    causing = np.argsort(-charged.sum(axis=0), kind="stable")[:MOST_RANKS]
    orders = np.stack([_orders(column) for column in charged.T[causing]], axis=1)
    differs = orders.var(axis=0) > 0
    best, found = NO_CHANCE, 0
    for every in range(2, min(LONGEST, steps // FEWEST_TIMES) + 1):
        sure = np.zeros(len(causing))
        sure[differs] = _deviations(orders[:, differs], every)
        second = float(np.partition(sure, -2)[-2])
        if second > best:
            best, found = second, every
    return _share_in_turn(charged, found) if found else 0.0


def _orders(values: Floats) -> Floats:
    """The place of each value among all, the mean of the places of equal ones."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle: Floats = (ends - (counts - 1) / 2)[inverse]
    return middle


def _deviations(orders: Floats, every: int) -> Floats:
    """How far the places of a period differ beyond chance (Wilson and Hilferty).

    Args:
        orders: places of the values of each rank, not all equal, shape (steps, ranks).
        every: the period, in steps.

    Returns:
        Standard deviations, by rank.
    """
    steps, ranks = orders.shape
    whole = np.zeros((-(-steps // every) * every, ranks))
    whole[:steps] = orders
    counts = np.bincount(np.arange(steps) % every, minlength=every)[:, None]
    means = whole.reshape(len(whole) // every, every, ranks).sum(axis=0) / counts
    beyond = (counts * (means - orders.mean(axis=0)) ** 2).sum(axis=0)
    free = every - 1
    statistic = beyond / orders.var(axis=0) / free
    variance = 2 / (9 * free)
    deviations: Floats = (np.cbrt(statistic) - (1 - variance)) / sqrt(variance)
    return deviations


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
