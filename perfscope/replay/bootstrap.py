"""How much a gain would vary from run to run: a moving-block bootstrap over steps or segments."""

from functools import lru_cache

import numpy as np

from perfscope.arrays import Floats, Ints

SEED = 20261120  # fixed: the same recording gives the same interval
REPEATS = 2000
MOST_SEGMENTS = 4000
FEWEST_SEGMENTS = 8
RARE = 0.25  # of the segments: what comes more often than this is drawn like all else


def gain_interval(
    gains: Floats, steps: Ints | None = None, *, scheduled: bool = False
) -> tuple[float, float] | None:
    """95 % interval of the sum of gains by segment, in their unit; None with too few of them.

    Blocks of neighboring segments are drawn with replacement (Kuensch 1989, made circular), so
    that what happens every so many segments stays together: a block is a multiple of the usual
    distance between large gains. Segments of one step share what made it long or short: where steps
    are known, whole ones are drawn.

    Args:
        gains: of each segment, in order.
        steps: number of the step of each segment, in order; None where steps are not known.
        scheduled: the gains are of work that the program does at times of its own choice, such as
            evaluation. Where it is rare, it comes as often in every run, and only how long it takes
            is drawn; None where it came once.
    """
    if steps is not None and len(gains):
        later = np.flatnonzero(steps[1:] != steps[:-1]) + 1
        gains = np.add.reduceat(gains, np.concatenate([[0], later]))
    if len(gains) < FEWEST_SEGMENTS:
        return None
    gains = _thinned(gains)
    rare = _large(gains) if scheduled else np.zeros(0, dtype=np.intp)
    if not 0 < len(rare) <= RARE * len(gains):
        return _middle(_block_totals(gains), gains)
    if len(rare) == 1:
        return None
    draws = np.random.default_rng(SEED)
    sizes = draws.choice(gains[rare], (REPEATS, len(rare))).sum(axis=1)
    return _middle(sizes + _block_totals(np.delete(gains, rare), draws), gains)


def no_more(interval: tuple[float, float], most: float) -> tuple[float, float]:
    """An interval without what cannot be: a resampled run has no less work than the recorded one.

    Drawn segments are as long in all, and what a change leaves to do in them is chance.
    """
    return min(interval[0], max(0.0, most)), min(interval[1], max(0.0, most))


def _block_totals(gains: Floats, draws: np.random.Generator | None = None) -> Floats:
    """Sums of as many segments as there are, in drawn blocks, shape (REPEATS,)."""
    count = len(gains)
    block = block_length(gains)
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([gains, gains[:block]]))])
    block_sums = sums[block : block + count] - sums[:count]
    blocks = -(-count // block)
    starts = _first_starts(count, blocks) if draws is None else _starts(draws, count, blocks)
    return np.asarray(block_sums[starts].sum(axis=1) * (count / (blocks * block)))


def _starts(draws: np.random.Generator, count: int, blocks: int) -> Ints:
    """Where drawn blocks begin, shape (REPEATS, blocks)."""
    return draws.integers(0, count, (REPEATS, blocks))


@lru_cache(maxsize=2)
def _first_starts(count: int, blocks: int) -> Ints:
    """The same as the first that is drawn: most questions to a run draw the same."""
    return _starts(np.random.default_rng(SEED), count, blocks)


def _middle(totals: Floats, gains: Floats) -> tuple[float, float]:
    """95 % of the drawn sums; what was measured is in it, however little was drawn beside it."""
    low, high = np.quantile(totals, (0.025, 0.975))
    measured = gains.sum()
    return float(min(low, measured)), float(max(high, measured))


def _large(gains: Floats) -> Ints:
    """Where gains are more than half as large as the largest."""
    return np.flatnonzero(np.abs(gains) > 0.5 * np.abs(gains).max())


def block_length(gains: Floats) -> int:
    """Segments in a block: the cube root of their number, rounded up to whole periods of gains."""
    count = len(gains)
    least = max(1, round(count ** (1 / 3)))
    large = _large(gains)
    period = int(np.median(np.diff(large))) if len(large) >= 3 else 1
    return int(min(max(1, period) * -(-least // max(1, period)), max(1, count // 2)))


def _thinned(gains: Floats) -> Floats:
    """Sums of neighboring segments, so that a long run costs no more than a short one."""
    group = -(-len(gains) // MOST_SEGMENTS)
    if group == 1:
        return gains
    return np.asarray(np.add.reduceat(gains, np.arange(0, len(gains), group)))
