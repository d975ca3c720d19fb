"""How much a gain would vary from run to run: a moving-block bootstrap over steps or segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfscope.replay.program import Floats, Ints

SEED = 20261120  # fixed: the same recording gives the same interval
REPEATS = 2000
MOST_SEGMENTS = 4000
FEWEST_SEGMENTS = 8


def gain_interval(gains: Floats, steps: Ints | None = None) -> tuple[float, float] | None:
    """95 % interval of the sum of gains by segment, in their unit; None with too few of them.

    Blocks of neighboring segments are drawn with replacement (Kuensch 1989, made circular), so
    that what happens every so many segments stays together: a block is a multiple of the usual
    distance between large gains. Segments of one step share what made it long or short: where steps
    are known, whole ones are drawn.

    Args:
        gains: of each segment, in order.
        steps: number of the step of each segment, in order; None where steps are not known.
    """
    if steps is not None and len(gains):
        gains = np.add.reduceat(gains, np.flatnonzero(np.diff(steps, prepend=steps[0] - 1)))
    if len(gains) < FEWEST_SEGMENTS:
        return None
    gains = _thinned(gains)
    count = len(gains)
    block = block_length(gains)
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([gains, gains[:block]]))])
    block_sums = sums[block : block + count] - sums[:count]
    blocks = -(-count // block)
    starts = np.random.default_rng(SEED).integers(0, count, (REPEATS, blocks))
    totals = block_sums[starts].sum(axis=1) * (count / (blocks * block))
    low, high = np.quantile(totals, (0.025, 0.975))
    return float(low), float(high)


def block_length(gains: Floats) -> int:
    """Segments in a block: the cube root of their number, rounded up to whole periods of gains."""
    count = len(gains)
    least = max(1, round(count ** (1 / 3)))
    large: Ints = np.flatnonzero(np.abs(gains) > 0.5 * np.abs(gains).max())
    period = int(np.median(np.diff(large))) if len(large) >= 3 else 1
    return int(min(max(1, period) * -(-least // max(1, period)), max(1, count // 2)))


def _thinned(gains: Floats) -> Floats:
    """Sums of neighboring segments, so that a long run costs no more than a short one."""
    group = -(-len(gains) // MOST_SEGMENTS)
    if group == 1:
        return gains
    return np.asarray(np.add.reduceat(gains, np.arange(0, len(gains), group)))
