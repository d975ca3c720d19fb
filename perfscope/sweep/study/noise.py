"""Which configurations may be the best, given how far repeats of one configuration are apart.

Hsu's multiple comparisons with the best: a configuration is out when the best of the others is
faster by more than noise explains. Noise is pooled over all configurations, of logarithms, so that
few repeats of each are enough; the level is shared between the comparisons by Bonferroni's rule.
Source: J. C. Hsu, Multiple Comparisons (Chapman & Hall, 1996), chapter 4.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from perfscope.structures import dataclass
from perfscope.student_t import student_quantile
from perfscope.studies.common.statistics import LEVEL

MOST_REPEATS_ADVISED = 50


@dataclass(frozen=True)
class Contenders:
    """The configurations that may be the best.

    Attributes:
        numbers: of those that are not slower than noise explains, by their medians; the first is
            the fastest.
        noise: relative standard deviation of one run, None where it cannot be had.
        span: the fastest divided by the slowest configuration, less one.
        reason: why nothing can be told, "" when it can.
        repeats_needed: of each configuration, for the two fastest to be told apart if they differ
            as they seem to; None when not known or unreasonably many.
    """

    numbers: tuple[int, ...]
    noise: float | None
    span: float
    reason: str
    repeats_needed: int | None


def contenders(speeds: Mapping[int, Sequence[float]]) -> Contenders:
    """Which configurations may be the best.

    Args:
        speeds: of the finished runs of each configuration, by its number; larger is better.
    """
    logs = {n: [math.log(v) for v in values] for n, values in speeds.items() if values}
    means = {number: fmean(values) for number, values in logs.items()}
    if not means:
        return Contenders((), None, 0.0, "no run was measured", None)
    every = tuple(sorted(means, key=lambda n: (-median(speeds[n]), n)))
    first, second = (*sorted(means.values(), reverse=True), -math.inf)[:2]
    span = math.exp(max(means.values()) - min(means.values())) - 1
    if len(means) < 2:
        return Contenders(every, None, span, "there is only one configuration", None)
    degrees = sum(len(values) - 1 for values in logs.values())
    if degrees < 1:
        return Contenders(every, None, span, "each configuration was run once", 3)
    squares = sum((v - means[n]) ** 2 for n, values in logs.items() for v in values)
    deviation = math.sqrt(squares / degrees)
    if deviation < 1e-12:
        return Contenders(
            every[:1],
            0.0,
            span,
            "the repeats do not differ at all, which measured times never do",
            None,
        )
    level = LEVEL / (len(means) - 1)
    quantile = student_quantile(1 - level, degrees)
    best = max(means, key=lambda n: means[n])
    kept = tuple(
        n for n in every if n == every[0] or _is_near(n, best, logs, means, quantile * deviation)
    )
    needed = _repeats(first - second, deviation, len(means))
    return Contenders(kept, math.exp(deviation) - 1, span, "", needed)


def _is_near(
    number: int,
    best: int,
    logs: Mapping[int, Sequence[float]],
    means: Mapping[int, float],
    width: float,
) -> bool:
    error = math.sqrt(1 / len(logs[number]) + 1 / len(logs[best]))
    return means[best] - means[number] <= width * error


def _repeats(gap: float, deviation: float, count: int) -> int | None:
    """The smallest number of repeats at which a gap would be larger than noise explains."""

    def suffices(repeats: int) -> bool:
        quantile = student_quantile(1 - LEVEL / (count - 1), count * (repeats - 1))
        return gap > quantile * deviation * math.sqrt(2 / repeats)

    low, high = 2, MOST_REPEATS_ADVISED
    if not suffices(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low
