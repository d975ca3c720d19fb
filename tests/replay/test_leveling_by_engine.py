"""Leveling in the engine against the same in numpy, to the last bit."""

import numpy as np
import pytest

from perfscope.arrays import Bools, Floats, Ints, rows_by
from perfscope.replay.leveling import (
    FEWEST_VALUES,
    GROUP_GAP,
    GROUP_LEAST,
    GROUP_LEAST_SHARE,
    NORMAL_QUARTILES,
    NOTHING,
    ROUNDING,
    SPREAD_FROM_QUARTILE,
    leveled,
)
from perfscope.replay.model import Level


def groups_of(usual: Floats) -> list[Ints]:
    """Segments of about the same usual work; small groups stay with their neighbors."""
    order = np.argsort(usual, kind="stable")
    values = np.maximum(usual[order], NOTHING * usual.max(initial=0.0))
    least = max(GROUP_LEAST, GROUP_LEAST_SHARE * len(order))
    cuts: list[int] = []
    for place in np.flatnonzero(values[1:] > GROUP_GAP * values[:-1]) + 1:
        if place - (cuts[-1] if cuts else 0) >= least and len(order) - place >= least:
            cuts.append(int(place))
    return np.split(order, cuts)


def evened(work: Floats, columns: Bools) -> Floats:
    mean = np.sort(work[:, columns], axis=0).mean(axis=1)
    return in_order(work, np.where(columns)[0], mean)


def made_as_others(work: Floats, columns: Bools) -> Floats:
    if columns.all():
        return work
    usual = np.median(np.sort(work[:, ~columns], axis=0), axis=1)
    longer = np.flatnonzero(columns & (work.sum(axis=0) > usual.sum()))
    return in_order(work, longer, usual)


def in_order(work: Floats, ranks: Ints, values: Floats) -> Floats:
    result = work.copy()
    order = np.argsort(work.T[ranks], axis=1, kind="stable")
    result[order, ranks[:, None]] = values
    return result


def without_outliers(work: Floats, columns: Bools) -> Floats:
    if np.count_nonzero(work > 0) < FEWEST_VALUES:
        return work
    beyond = work > np.maximum([bound(one) for one in work.T], bound(work.ravel()))
    ordinary = np.where(beyond, np.nan, work)
    usual = work.min(axis=1)
    known = ~np.all(np.isnan(ordinary), axis=1)
    usual[known] = np.nanmedian(ordinary[known], axis=1)
    return np.where(beyond & columns, np.minimum(work, usual[:, None]), work)


def bound(work: Floats) -> float:
    """Up to which work of a rank is ordinary; what takes no time says nothing."""
    if not np.any(work > 0):
        return 0.0
    low, quartile = np.quantile(np.log(work[work > 0]), (0.05, 0.25))
    most = np.exp(quartile + SPREAD_FROM_QUARTILE * (quartile - low) / NORMAL_QUARTILES)
    return float(most * (1.0 + ROUNDING))


RULES = {
    Level.EVEN: evened,
    Level.AS_OTHERS: made_as_others,
    Level.USUAL: without_outliers,
}


def expected(work: Floats, level: Level, columns: Bools, kinds: Ints) -> Floats:
    result = work.copy()
    for rows in rows_by(kinds):
        alike = work[rows]
        if not alike.any():
            continue
        if level is Level.USUAL:
            usual = np.sort(alike, axis=1)[:, (work.shape[1] - 1) // 2]
        else:
            reference = np.flatnonzero(columns if columns.all() else ~columns)
            usual = np.median(alike[:, reference], axis=1)
        for group in groups_of(usual):
            result[rows[group]] = RULES[level](work[rows[group]], columns)
    return result


def some_work(random: np.random.Generator, segments: int, ranks: int, what: str) -> Floats:
    shape = (segments, ranks)
    if what == "whole":  # as times are recorded, with equal ones
        return random.integers(0, 50, shape).astype(np.float64)
    work: Floats = random.lognormal(0.0, 1.0, shape)
    if what == "two sizes":
        return np.asarray(work * np.where(random.random((segments, 1)) < 0.3, 40.0, 1.0))
    if what == "late ones":
        return np.asarray(np.where(random.random(shape) < 0.1, work * 1e4, work))
    if what == "mostly none":
        return np.asarray(np.where(random.random(shape) < 0.8, 0.0, work))
    return work


@pytest.mark.parametrize("level", [Level.EVEN, Level.AS_OTHERS, Level.USUAL])
@pytest.mark.parametrize("what", ["whole", "two sizes", "late ones", "mostly none", "varying"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 17, 150])
@pytest.mark.parametrize("segments", [1, 40, 700])
def test_the_engine_levels_as_numpy_does(
    segments: int, ranks: int, what: str, level: Level
) -> None:
    random = np.random.default_rng(segments * 1000 + ranks)
    work = some_work(random, segments, ranks, what)
    kinds = random.integers(0, max(1, segments // 300), segments)
    some = random.random(ranks) < 0.4
    some[random.integers(ranks)] = True
    for columns in (np.ones(ranks, np.bool_), some):
        found = leveled(work, level=level, columns=columns, kinds=kinds)
        assert np.array_equal(found, expected(work, level, columns, kinds))


def test_segments_of_their_own_kind_are_leveled_one_by_one() -> None:
    work = np.random.default_rng(1).random((50, 20))
    everywhere, kinds = np.ones(20, np.bool_), np.arange(50)
    found = leveled(work, level=Level.EVEN, columns=everywhere, kinds=kinds)
    assert np.array_equal(found, expected(work, Level.EVEN, everywhere, kinds))
