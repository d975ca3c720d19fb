"""How much more rarely work may be done that ranks do again and again between training steps."""

from perfscope.findings.core import thresholds
from perfscope.metrics.results import Results
from perfscope.units import NS

RARER = (2, 5, 10, 30, 100)
"""How much more rarely it may be done; the first that leaves little is advised."""


def less_often(steps: int, times: int, every: int) -> str:
    """How often to do what is done so many times in so many steps, where one in `every` stays.

    `every 25 steps instead of every 5`, "less often" where steps do not tell.
    """
    apart = round(steps / times)
    if apart < 1 or every >= times:
        return "less often"
    return f"every {apart * every:,} steps instead of every {f'{apart:,}' if apart > 1 else 'step'}"


def rarer(results: Results, seconds: float, most: int) -> int:
    """The smallest factor that leaves little of so many seconds, at most the given one."""
    for every in RARER:
        left_s = seconds / every
        rest_s = results.focus.length_ns * NS - seconds + left_s
        if every >= most or left_s <= thresholds.FAIL_SHARE_UPPER_BOUND * rest_s:
            return min(every, most)
    return min(RARER[-1], most)
