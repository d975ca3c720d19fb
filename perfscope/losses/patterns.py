"""In which steps a loss arises, and on whom: its pattern over the run."""

from math import sqrt

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.schema.enums import LossPattern

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
    differing = orders[:, differs]
    mean, variance = differing.mean(axis=0), differing.var(axis=0)
    best, found = NO_CHANCE, 0
    for every in range(2, min(LONGEST, steps // FEWEST_TIMES) + 1):
        sure = np.zeros(len(causing))
        sure[differs] = _deviations(differing, mean, variance, every)
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


def _deviations(orders: Floats, mean: Floats, variance: Floats, every: int) -> Floats:
    """How far the places of a period differ beyond chance (Wilson and Hilferty).

    Args:
        orders: places of the values of each rank, not all equal, shape (steps, ranks).
        mean: of those of each rank.
        variance: of the same.
        every: the period, in steps.

    Returns:
        Standard deviations, by rank.
    """
    steps, ranks = orders.shape
    whole = np.zeros((-(-steps // every) * every, ranks))
    whole[:steps] = orders
    counts = np.bincount(np.arange(steps) % every, minlength=every)[:, None]
    means = whole.reshape(len(whole) // every, every, ranks).sum(axis=0) / counts
    beyond = (counts * (means - mean) ** 2).sum(axis=0)
    free = every - 1
    statistic = beyond / variance / free
    spread = 2 / (9 * free)
    deviations: Floats = (np.cbrt(statistic) - (1 - spread)) / sqrt(spread)
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


MOST_OF = 0.9
"""The share of a loss that has to lie in some steps for them to be called its steps; of what the
rank that causes most does, that all do on average where they are alike."""

FEWEST_UNITS = 8
"""Of fewer steps nothing can be said about a pattern."""

FEW = 0.25
"""Share of the steps below which those that hold most of a loss are few."""

WINDOW = 0.8
"""Share of the run below which a stretch is a part of it."""

BY_TURNS = 0.25
"""Share of a loss in which even the rank with most to do in the step must wait."""

BY_THE_SAME = 0.75
"""Share of a loss that the same ranks, no more than half of all, must cause; and of what is more
than equal parts, that the same ranks always have."""


OF_MANY_STEPS = frozenset(
    {
        *(LossPattern.STATIC, LossPattern.EVEN, LossPattern.SERIAL, LossPattern.VARYING),
        *(LossPattern.BURSTS, LossPattern.WINDOW),
    }
)
"""Patterns that a half of the steps tells as well; others have tests of their own."""

DRAWS = 3
MOST_CELLS = 1 << 18
"""Steps times ranks, up to which halves are drawn: they cost as much as six patterns."""


def pattern_of(charged: Floats, turns: Floats) -> LossPattern | None:
    """The pattern of a loss; None where there is no loss, or there are too few steps to tell.

    Args:
        charged: the loss by step and by the rank that causes it, shape (steps, ranks).
        turns: of the waiting in each step, the share in which even the busiest rank waits, shape
            (steps,).
    """
    by_step = charged.sum(axis=1)
    whole = float(by_step.sum())
    steps = len(by_step)
    if whole <= 0 or steps < FEWEST_UNITS:
        return None
    own = _steps_of_most(by_step)
    if len(own) <= max(1, steps // 100):
        return LossPattern.ONCE
    first, last = _reach(by_step)
    stretch = last - first + 1
    is_part = stretch <= WINDOW * steps
    if is_part and 2 * len(own) >= stretch:
        return LossPattern.WINDOW
    if len(own) <= FEW * steps:
        return LossPattern.BURSTS
    if float(by_step @ turns) >= BY_TURNS * whole:
        return LossPattern.SERIAL
    if _share_of_same(charged) >= BY_THE_SAME:
        return LossPattern.STATIC
    if _are_alike(charged):
        return LossPattern.EVEN
    return LossPattern.STATIC if _share_that_stays(charged) >= BY_THE_SAME else LossPattern.VARYING


def is_certain(charged: Floats, turns: Floats, pattern: LossPattern) -> bool | None:
    """Whether halves of the steps, drawn at random, tell the same pattern as all; None: not asked.

    A pattern that some of the steps suggest and others do not lies at the edge of two. What comes
    once has no halves, and of very many steps and ranks nothing is drawn.
    """
    if pattern not in OF_MANY_STEPS or charged.size > MOST_CELLS:
        return None
    if len(charged) < 2 * FEWEST_UNITS:
        return False
    random = np.random.default_rng(len(charged))
    for _ in range(DRAWS):
        order = random.permutation(len(charged))
        for half in np.array_split(order, 2):
            chosen = np.sort(half)
            if pattern_of(charged[chosen], turns[chosen] if len(turns) else turns) is not pattern:
                return False
    return True


def _steps_of_most(by_step: Floats) -> Ints:
    """The fewest steps that hold most of a loss."""
    order = np.argsort(-by_step, kind="stable")
    reached = np.cumsum(by_step[order])
    count = int(np.searchsorted(reached, MOST_OF * reached[-1])) + 1
    return order[:count]


def _reach(by_step: Floats) -> tuple[int, int]:
    """The first and the last step of the middle of a loss, without a twentieth at each end."""
    reached = np.cumsum(by_step) / by_step.sum()
    margin = (1 - MOST_OF) / 2
    first = int(np.searchsorted(reached, margin, side="right"))
    last = int(np.searchsorted(reached, 1 - margin, side="left"))
    return first, min(last, len(by_step) - 1)


def _share_of_same(charged: Floats) -> float:
    """The share that the ranks cause that cause most of it, no more than half of all."""
    by_rank = np.sort(charged.sum(axis=0))[::-1]
    return float(by_rank[: max(1, len(by_rank) // 2)].sum() / by_rank.sum())


def _are_alike(charged: Floats) -> bool:
    """Whether no rank causes much more than the mean of all, over the run and in its steps.

    In single steps chance makes the largest of many larger.
    """
    by_rank = charged.sum(axis=0)
    in_steps = float(charged.mean(axis=1).sum() / charged.max(axis=1).sum())
    return float(by_rank.mean() / by_rank.max()) >= MOST_OF and in_steps >= BY_THE_SAME


def _share_that_stays(charged: Floats) -> float:
    """Of what ranks cause beyond equal parts of each step, the share that the same ones always do.

    By chance it evens out over the steps.
    """
    by_rank = charged.sum(axis=0)
    beyond = np.maximum(charged - charged.mean(axis=1, keepdims=True), 0.0)
    stays = np.maximum(by_rank - by_rank.mean(), 0.0)
    return float(stays.sum() / beyond.sum()) if beyond.any() else 0.0
