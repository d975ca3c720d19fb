"""What causality alone says of an offset that drifts evenly: the lines between two sets of limits.

No line may rise above an upper limit (an effect would precede its cause) or fall below a lower one.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from perfscope.arrays import Floats
from perfscope.structures import dataclass

MAX_SLOPE = 1e-3
"""No pair of working clocks drifts faster, even while one of them is being set."""
WINDOWS = 256
ITERATIONS = 48


@dataclass(frozen=True)
class Limits:
    """Upper and lower limits of an offset in ns, at moments in ns."""

    upper_at: Floats
    upper: Floats
    lower_at: Floats
    lower: Floats

    def thinned(self) -> "Limits":
        """The tightest limits of each window of time; fewer limits still hold."""
        above, high = _tightest(self.upper_at, self.upper)
        below, low = _tightest(self.lower_at, -self.lower)
        return Limits(above, high, below, -low)

    def highest(self, moment: float, slope: float) -> float:
        """The highest value at a moment of the lines of a slope."""
        return float((self.upper - slope * (self.upper_at - moment)).min())

    def lowest(self, moment: float, slope: float) -> float:
        """The lowest value at a moment of the lines of a slope."""
        return float((self.lower - slope * (self.lower_at - moment)).max())

    def room(self, moment: float, slope: float) -> float:
        """Between what values lines of a slope fit; negative where none does."""
        return self.highest(moment, slope) - self.lowest(moment, slope)


@dataclass(frozen=True)
class Corridor:
    """The lowest and highest value over a stretch of time that any possible line takes.

    `floor` and `ceiling` are the same for level lines, or those of all lines where none is level.
    `gap` is by how much the limits contradict each other, 0 where a line is possible.
    """

    lowest: float
    highest: float
    floor: float
    ceiling: float
    gap: float

    @classmethod
    def unlimited(cls, gap: float = 0.0) -> "Corridor":
        """Where the limits say nothing, or contradict each other."""
        return cls(-np.inf, np.inf, -np.inf, np.inf, gap)


def corridor(limits: Limits, begin: float, end: float) -> Corridor:
    """Between what values an offset that drifts evenly lies from `begin` to `end`."""
    if not len(limits.upper) or not len(limits.lower):
        return Corridor.unlimited()
    floor, ceiling = float(limits.lower.max()) + 1, float(limits.upper.min()) - 1
    limits = limits.thinned()
    middle = (begin + end) / 2
    room = partial(limits.room, middle)
    best = _peak(room, -MAX_SLOPE, MAX_SLOPE)
    if room(best) < 0:
        return Corridor.unlimited(gap=-room(best))
    least, most = _edge(room, best, -MAX_SLOPE), _edge(room, best, MAX_SLOPE)
    highs, lows = [], []
    for moment in (begin, end):
        highest, lowest = partial(limits.highest, moment), partial(limits.lowest, moment)
        highs.append(highest(_peak(highest, least, most)))
        lows.append(lowest(_peak(_negated(lowest), least, most)))
    if floor > ceiling:
        floor, ceiling = min(lows), max(highs)
    return Corridor(min(lows), max(highs), floor, ceiling, 0.0)


def _tightest(at: Floats, value: Floats) -> tuple[Floats, Floats]:
    if len(at) <= WINDOWS:
        return at, value
    span = max(float(np.ptp(at)), 1.0)
    window = np.minimum(((at - at.min()) / span * WINDOWS).astype(np.int64), WINDOWS - 1)
    order = np.lexsort((value, window))
    first = np.ones(len(order), np.bool_)
    first[1:] = window[order][1:] != window[order][:-1]
    chosen = order[first]
    return at[chosen], value[chosen]


def _peak(height: Callable[[float], float], least: float, most: float) -> float:
    """Where a concave function is highest."""
    for _ in range(ITERATIONS):
        third = (most - least) / 3
        if height(least + third) < height(most - third):
            least += third
        else:
            most -= third
    return (least + most) / 2


def _negated(height: Callable[[float], float]) -> Callable[[float], float]:
    return lambda slope: -height(slope)


def _edge(height: Callable[[float], float], inside: float, outside: float) -> float:
    """How far from inside towards outside a concave function stays at or above 0."""
    if height(outside) >= 0:
        return outside
    for _ in range(ITERATIONS):
        middle = (inside + outside) / 2
        if height(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return inside
