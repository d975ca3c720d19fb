"""Student's t distribution, from the incomplete beta function: one formula needs no scipy."""

import math
from functools import cache

_TINY = 1e-300


def student_two_sided(t: float, degrees: float) -> float:
    """The chance that |T| of Student's distribution is at least |t|."""
    return _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def student_quantile(share: float, degrees: float) -> float:
    """The t below which `share` (from 0.5 on) of Student's distribution lies."""
    low, high = 0.0, 1.0
    while student_two_sided(high, degrees) > 2 * (1 - share):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if student_two_sided(middle, degrees) > 2 * (1 - share):
            low = middle
        else:
            high = middle
    return (low + high) / 2


@cache
def student_95(degrees: int) -> float:
    """Half the width of a 95 % interval in standard errors."""
    return student_quantile(0.975, degrees)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction 1/(1+ d1/(1+ d2/(1+ ...))) by Lentz's method."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or _TINY)
    result = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or _TINY)
            c = (1 + term / c) or _TINY
            result *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return result
