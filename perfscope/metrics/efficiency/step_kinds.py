"""Whether steps are of two kinds, as where each tenth evaluates: one median would hide that."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.schema.run import StepKind


def step_kinds(seconds: Floats) -> tuple[StepKind, ...]:
    """The two kinds of steps, the shorter ones first; none where they are of one kind.

    Two kinds explain most of the variance: the best cut of a normal distribution explains 0.64 of
    it, of a uniform one 0.75. What takes little longer is one kind to people, and fewer steps than
    make a kind are told as the longest.
    """
    taken = np.sort(seconds)
    if len(taken) < 2 * FEWEST_SAMPLES or not taken[0] < taken[-1]:
        return ()
    below = np.arange(1, len(taken))
    sums = np.cumsum(taken)
    apart = sums[:-1] / below - (sums[-1] - sums[:-1]) / (len(taken) - below)
    between = apart**2 * below * (len(taken) - below) / len(taken) ** 2
    cut = int(np.argmax(between)) + 1
    short, long = taken[:cut], taken[cut:]
    is_apart = between[cut - 1] >= ALONE * taken.var()
    is_longer = np.median(long) >= (1.0 + MAIN) * np.median(short)
    if not is_apart or not is_longer or min(len(short), len(long)) < FEWEST_SAMPLES:
        return ()
    return tuple(StepKind(len(kind), float(np.median(kind))) for kind in (short, long))
