"""Which configurations may be the best, given the spread between repeats of one configuration.

Hsu's multiple comparisons with the best: a configuration is out when the best is faster by more
than noise explains. Noise is pooled over all configurations, of logarithms, so that few repeats of
each are enough; the level is shared between the comparisons by Bonferroni's rule. The same noise
makes the intervals: one that does not reach that of the best is of a configuration that is out.
Sources: J. C. Hsu, Multiple Comparisons (Chapman & Hall, 1996), chapter 4; for the intervals
K. R. Gabriel, Journal of the American Statistical Association 73 (1978); the variance of a median
is at most pi / 2 times that of a mean (M. G. Kendall, A. Stuart, The Advanced Theory of
Statistics 1, 14.6), and that of one or two values is their mean's.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from perfscope.structures import dataclass
from perfscope.student_t import student_quantile
from perfscope.studies.common.statistics import LEVEL

MOST_REPEATS_ADVISED = 50
ROUNDING = 1e-12  # of logarithms


@dataclass(frozen=True)
class Contenders:
    """The configurations that may be the best."""

    # of those that are not slower than noise explains, by their medians; the first is the fastest
    numbers: tuple[int, ...]
    noise: float | None  # relative standard deviation of one run, None where it cannot be had
    span: float  # the fastest divided by the slowest configuration, less one
    reason: str  # why nothing can be told, "" when it can
    # of each configuration, for the two fastest to be told apart if they differ as they seem to;
    # None when not known or unreasonably many
    repeats_needed: int | None
    # of the median speed of each configuration; empty where the noise is not known
    intervals: Mapping[int, tuple[float, float]]


def contenders(speeds: Mapping[int, Sequence[float]]) -> Contenders:
    """Which configurations may be the best."""
    logs = {n: [math.log(v) for v in values] for n, values in speeds.items() if values}
    middles = {number: math.log(median(speeds[number])) for number in logs}
    if not middles:
        return Contenders((), None, 0.0, "no run was measured", None, {})
    every = tuple(sorted(middles, key=lambda n: (-middles[n], n)))
    span = math.exp(middles[every[0]] - middles[every[-1]]) - 1
    degrees = sum(len(values) - 1 for values in logs.values())
    if degrees < 1 and len(every) > 1:
        return Contenders(every, None, span, "each configuration was run once", 3, {})
    deviation = _pooled(list(logs.values()), degrees)
    widths = _widths(logs, every[0], deviation, degrees)
    intervals = {
        n: (math.exp(middles[n] - width), math.exp(middles[n] + width))
        for n, width in widths.items()
    }
    if len(every) < 2:
        reason = "there is only one configuration"
        return Contenders(every, None, span, reason, None, intervals)
    if deviation < ROUNDING:
        reason = "the repeats do not differ at all, which measured times never do"
        return Contenders(every[:1], 0.0, span, reason, None, {})
    kept = tuple(n for n in every if intervals[n][1] >= intervals[every[0]][0])
    needed = _repeats(middles[every[0]] - middles[every[1]], deviation, len(every))
    return Contenders(kept, math.exp(deviation) - 1, span, "", needed, intervals)


def _pooled(logs: Sequence[Sequence[float]], degrees: int) -> float:
    """Standard deviation of one run around the mean of its configuration; 0 without repeats."""
    squares = sum(sum((v - fmean(values)) ** 2 for v in values) for values in logs)
    return math.sqrt(squares / degrees) if degrees else 0.0


def _widths(
    logs: Mapping[int, Sequence[float]], best: int, deviation: float, degrees: int
) -> dict[int, float]:
    """Half the interval of each configuration, of logarithms; none without noise.

    That of the best and that of another together are what a difference of the two must exceed.
    """
    if deviation < ROUNDING:
        return {}
    reach = _quantile(len(logs), degrees) * deviation
    own = reach * math.sqrt(_variance(len(logs[best])) / 2)
    return {
        number: own
        if number == best
        else reach * math.sqrt(_variance(len(values)) + _variance(len(logs[best]))) - own
        for number, values in logs.items()
    }


def _quantile(count: int, degrees: int) -> float:
    """Of Student's t: of one configuration alone that of an interval around its median."""
    level = LEVEL / (count - 1) if count > 1 else LEVEL / 2
    return student_quantile(1 - level, degrees) * (1 if count > 1 else math.sqrt(2))


def _variance(repeats: int) -> float:
    """Of the median of some values, for values of variance 1."""
    return (math.pi / 2 if repeats > 2 else 1.0) / repeats


def _repeats(gap: float, deviation: float, count: int) -> int | None:
    """The smallest number of repeats at which a gap would be larger than noise explains."""

    def suffices(repeats: int) -> bool:
        quantile = _quantile(count, count * (repeats - 1))
        return gap > quantile * deviation * math.sqrt(2 * _variance(repeats))

    low, high = 2, MOST_REPEATS_ADVISED
    if not suffices(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low
