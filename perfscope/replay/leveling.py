"""How long ranks would work if their work were leveled, in seconds that a real run can reach.

Work varies from step to step, and a fix does not take that away: a rank made as fast as the others
is late by chance as often as they are. Taking the lesser of two ranks in each step would promise
more. Ranks are therefore compared over all segments of a kind, value by value in sorted order, and
each rank keeps the order of its own long and short steps.
"""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, rows_by
from perfscope.replay.model import Level

GROUP_GAP = 1.5  # segments whose usual work differs by such a factor, with none between
GROUP_LEAST_SHARE = 0.1  # of the segments of a kind, and at least this many:
GROUP_LEAST = 8
NOTHING = 1e-6  # of the most work: less counts as that much
SPREAD_FROM_QUARTILE = 4.5  # standard deviations above the first quartile: beyond ordinary work
NORMAL_QUARTILES = 0.970  # standard deviations from the 5 % to the 25 % quantile
ROUNDING = 1e-9
FEWEST_VALUES = 32  # below which the ordinary spread is not known


def leveled(work: Floats, *, level: Level, columns: Bools, kinds: Ints) -> Floats:
    """Work by segment and rank after leveling, in the unit of `work`, shape (segments, ranks).

    Args:
        work: what is leveled, shape (segments, ranks).
        level: in which way.
        columns: which ranks it touches, shape (ranks,).
        kinds: which segments are alike, shape (segments,).
    """
    if level is Level.SHARED:
        return np.where(columns, work[:, columns].mean(axis=1, keepdims=True), work)
    if level is Level.MEDIAN:
        return np.where(columns, np.minimum(work, _lower_median(work)[:, None]), work)
    result = work.copy()
    for rows in rows_by(kinds):
        alike = work[rows]
        if not alike.any():  # most edits are of a phase, which lies between few calls of a step
            continue
        for group in _groups(_usual(alike, level, columns)):
            chosen = rows[group]
            result[chosen] = RULES[level](work[chosen], columns)
    return result


def _usual(work: Floats, level: Level, columns: Bools) -> Floats:
    """What each segment takes those that are not late, by which like segments are told."""
    if level is Level.USUAL:  # any rank may be late
        return _lower_median(work)
    usual: Floats = np.median(work[:, _reference(columns)], axis=1)
    return usual


def _lower_median(work: Floats) -> Floats:
    """Of each segment the lower one of two in the middle: no mean where half of them are late."""
    usual: Floats = np.sort(work, axis=1)[:, (work.shape[1] - 1) // 2]
    return usual


def _reference(columns: Bools) -> Ints:
    """The ranks by which like segments are told: those left alone, or all."""
    return np.flatnonzero(columns if columns.all() else ~columns)


def _groups(usual: Floats) -> list[Ints]:
    """Segments of about the same usual work; small groups stay with their neighbors."""
    order = np.argsort(usual, kind="stable")
    values = np.maximum(usual[order], NOTHING * usual.max(initial=0.0))
    least = max(GROUP_LEAST, GROUP_LEAST_SHARE * len(order))
    cuts: list[int] = []
    for place in np.flatnonzero(values[1:] > GROUP_GAP * values[:-1]) + 1:
        if place - (cuts[-1] if cuts else 0) >= least and len(order) - place >= least:
            cuts.append(int(place))
    return np.split(order, cuts)


def _even(work: Floats, columns: Bools) -> Floats:
    """Every rank gets the mean of the ranks' sorted values: no work is lost, its spread stays."""
    mean = np.sort(work[:, columns], axis=0).mean(axis=1)
    return _in_order(work, np.where(columns)[0], mean)


def _as_others(work: Floats, columns: Bools) -> Floats:
    """The ranks that work longer than the others get the others' sorted values."""
    if columns.all():
        return work
    usual = np.median(np.sort(work[:, ~columns], axis=0), axis=1)
    longer = np.flatnonzero(columns & (work.sum(axis=0) > usual.sum()))
    return _in_order(work, longer, usual)


def _in_order(work: Floats, ranks: Ints, values: Floats) -> Floats:
    """The sorted values dealt out to the ranks, each in the order of its own work."""
    result = work.copy()
    order = np.argsort(work.T[ranks], axis=1, kind="stable")  # each rank's work lies together
    result[order, ranks[:, None]] = values
    return result


def _without_outliers(work: Floats, columns: Bools) -> Floats:
    """Work beyond the ordinary spread becomes that of the others in the same segment.

    The spread is taken from the lower half: of two ranks that are late in turn, half of all work
    is late. What is beyond it must be beyond the rank's own spread, too: where always the same
    rank works, while the others wait for their turn, nobody is late. Where all work longer than
    usual in a segment, each is late by what it takes beyond the fastest: nobody waits for the rest.
    """
    if np.count_nonzero(work > 0) < FEWEST_VALUES:
        return work
    beyond = work > np.maximum(ordinary_bounds(work), ordinary_bounds(work.reshape(-1, 1)))
    late = beyond & columns
    if not np.any(late):
        return work
    ordinary = np.where(beyond, np.nan, work)
    usual = work.min(axis=1)
    known = ~np.all(np.isnan(ordinary), axis=1)
    usual[known] = np.nanmedian(ordinary[known], axis=1)
    return np.where(late, np.minimum(work, usual[:, None]), work)


def ordinary_bounds(work: Floats) -> Floats:
    """Up to which work is ordinary, by column; what takes no time says nothing."""
    some = work > 0
    logs = np.log(work, out=np.full(work.shape, np.inf), where=some)
    counts, bounds = np.count_nonzero(some, axis=0), np.zeros(work.shape[1])
    if not some.all():
        logs.sort(axis=0)  # what takes no time comes last
    for count in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == count)
        low, quartile = np.quantile(logs[:count, alike], (0.05, 0.25), axis=0)
        bounds[alike] = np.exp(
            quartile + SPREAD_FROM_QUARTILE * (quartile - low) / NORMAL_QUARTILES
        )
    return bounds * (1.0 + ROUNDING)  # exp(log(x)) may be less than x


RULES = {Level.EVEN: _even, Level.AS_OTHERS: _as_others, Level.USUAL: _without_outliers}
