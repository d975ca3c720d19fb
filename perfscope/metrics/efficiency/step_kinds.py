"""Whether steps are of two kinds, as where each tenth evaluates: one median would hide that."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.schema.run import StepKind

APART = 0.9
"""Of the variance of the seconds, what two kinds explain at least.

The best cut explains 0.64 of that of a normal distribution, 0.75 of a uniform one.
"""

LEAST_LONGER = 1.5
"""How much longer the one kind takes: what differs by less is one kind to people."""

LEAST_COUNT = 3
"""Steps of a kind: fewer are single long ones, which are told as the longest."""


def step_kinds(seconds: Floats) -> tuple[StepKind, ...]:
    """The two kinds of steps, the shorter ones first; none where they are of one kind."""
    taken = np.sort(seconds)
    if len(taken) < 2 * LEAST_COUNT or not taken[0] < taken[-1]:
        return ()
    below = np.arange(1, len(taken))
    sums = np.cumsum(taken)
    apart = sums[:-1] / below - (sums[-1] - sums[:-1]) / (len(taken) - below)
    between = apart**2 * below * (len(taken) - below) / len(taken) ** 2
    cut = int(np.argmax(between)) + 1
    short, long = taken[:cut], taken[cut:]
    is_apart = between[cut - 1] >= APART * taken.var()
    is_longer = np.median(long) >= LEAST_LONGER * np.median(short)
    if not is_apart or not is_longer or min(len(short), len(long)) < LEAST_COUNT:
        return ()
    return tuple(StepKind(len(kind), float(np.median(kind))) for kind in (short, long))
