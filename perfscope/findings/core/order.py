"""Which finding comes first: the one of which most is expected to be had."""

from perfscope.findings.core.finding import Gain
from perfscope.judging import MAIN

LIKELY = MAIN
"""Of a bound, what a change is expected to save: anything from nothing to all of it may be left.

So a replayed saving comes before every bound of which it is the main part.
"""


def likely_s(gain: Gain) -> float:
    """Seconds that a change is expected to save: all that was replayed, of a bound a part."""
    return gain.seconds * _likely(gain)


def likely_share(gain: Gain) -> float:
    """The same as a share of the focus of analysis."""
    return gain.share * _likely(gain)


def _likely(gain: Gain) -> float:
    return LIKELY if gain.is_bound else 1.0
