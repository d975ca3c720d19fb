"""How much more rarely work may be done that ranks do again and again between training steps."""

from perfscope.findings.core import thresholds
from perfscope.metrics.results import Results
from perfscope.units import NS

RARER = (2, 5, 10, 30, 100)
"""How much more rarely it may be done; the first that leaves little is advised."""


def rarer(results: Results, seconds: float, most: int) -> int:
    """The smallest factor that leaves little of so many seconds, at most the given one."""
    for every in RARER:
        left_s = seconds / every
        rest_s = results.focus.length_ns * NS - seconds + left_s
        if every >= most or left_s <= thresholds.FAIL_SHARE_UPPER_BOUND * rest_s:
            return min(every, most)
    return min(RARER[-1], most)
