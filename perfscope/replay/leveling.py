"""How long ranks would work if their work were leveled, in seconds that a real run can reach.

Work varies from step to step, and a fix does not take that away: a rank made as fast as the others
is late by chance as often as they are. Taking the lesser of two ranks in each step would promise
more. Ranks are therefore compared over all segments of a kind, value by value in sorted order, and
each rank keeps the order of its own long and short steps.
"""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, between, grouped
from perfscope.engine import engine
from perfscope.replay.model import Level

GROUP_GAP = 1.5  # segments whose usual work differs by such a factor, with none between
GROUP_LEAST_SHARE = 0.1  # of the segments of a kind, and at least this many:
GROUP_LEAST = 8
NOTHING = 1e-6  # of the most work: less counts as that much
SPREAD_FROM_QUARTILE = 4.5  # standard deviations above the first quartile: beyond ordinary work
QUANTILES = 0.05, 0.25
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
    segments, starts = _groups(work, level, columns, kinds)
    if level is not Level.USUAL:
        # every rank gets the mean of the ranks' sorted values, so that no work is lost and its
        # spread stays, or ranks that work longer the others' sorted ones; each keeps its order
        walk = engine.evened if level is Level.EVEN else engine.made_as_others
        found = walk(work, segments, starts, columns.view(np.uint8))
        return np.asarray(found.reshape(work.shape))
    bounds = ordinary_bounds(work, segments, starts)
    found = engine.within_bounds(work, segments, starts, columns.view(np.uint8), bounds)
    return np.asarray(found.reshape(work.shape))


def _groups(work: Floats, level: Level, columns: Bools, kinds: Ints) -> tuple[Ints, Ints]:
    """Segments of a kind and of about the same usual work; small groups stay with their neighbors.

    The usual work is what those take that are not late: of these ranks that are left alone, or of
    all, and where any rank may be late the lower one of two in the middle.

    Returns:
        The segments, those of a group one after the other, and where each group begins.
    """
    segments, starts = grouped(kinds)
    is_any = level is Level.USUAL or bool(columns.all())
    reference = np.ones(len(columns), np.bool_) if is_any else ~columns
    return engine.groups_of_like(
        work,
        segments,
        starts,
        reference.view(np.uint8),
        lower=level is Level.USUAL,
        factor=GROUP_GAP,
        least_share=GROUP_LEAST_SHARE,
        least=GROUP_LEAST,
        nothing=NOTHING,
    )


def _lower_median(work: Floats) -> Floats:
    """Of each segment the lower one of two in the middle: no mean where half of them are late."""
    usual: Floats = np.sort(work, axis=1)[:, (work.shape[1] - 1) // 2]
    return usual


def ordinary_bounds(work: Floats, segments: Ints, starts: Ints) -> Floats:
    """Up to which work of each rank is ordinary in each group of segments, shape (groups, ranks).

    The spread is taken from the lower half: of two ranks that are late in turn, half of all work
    is late. What is beyond it must be beyond the rank's own spread, too: where always the same
    rank works, while the others wait for their turn, nobody is late. Where all work longer than
    usual in a segment, each is late by what it takes beyond the fastest: nobody waits for the rest.
    """
    counts, around = engine.low_values(work, segments, starts, *QUANTILES)
    counts = counts.reshape(-1, work.shape[1] + 1)
    bounds = _bounds_by(counts, around.reshape(*counts.shape, 2, 2))
    result = np.maximum(bounds[:, :-1], bounds[:, -1:])
    result[counts[:, -1] < FEWEST_VALUES] = np.inf
    return result


def _bounds_by(counts: Ints, around: Floats) -> Floats:
    """Up to which work is ordinary; what takes no time says nothing.

    Args:
        counts: how many values above 0 there are.
        around: between which of them each of the quantiles lies, shape (*counts.shape, 2, 2).
    """
    logs, quantiles = np.log(around), []
    for place, share in enumerate(QUANTILES):
        at = (counts - 1) * share
        quantiles.append(between(logs[..., place, 0], logs[..., place, 1], at - np.floor(at)))
    low, quartile = quantiles
    bounds = np.exp(quartile + SPREAD_FROM_QUARTILE * (quartile - low) / NORMAL_QUARTILES)
    # exp(log(x)) may be less than x
    return np.where(counts > 0, bounds * (1.0 + ROUNDING), 0.0)
