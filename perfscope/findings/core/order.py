"""Which finding comes first: the one of which most is expected to be had."""

from perfscope.findings.core.finding import Finding
from perfscope.judging import MAIN
from perfscope.schema.enums import Basis

LIKELY = MAIN
"""Of a bound, what a change is expected to save: anything from nothing to all of it may be left.

So a replayed saving comes before every bound of which it is the main part.
"""


def likely_s(finding: Finding) -> float:
    """Seconds that what is recommended is expected to save; 0.0 where none are claimed.

    All that was replayed, and of a bound a part; a first action leaves the rest of it already.
    """
    return finding.recommended.seconds * _likely(finding) if finding.recommended else 0.0


def likely_share(finding: Finding) -> float:
    """The same as a share of the focus of analysis."""
    return finding.recommended.share * _likely(finding) if finding.recommended else 0.0


def _likely(finding: Finding) -> float:
    is_bound = finding.first is None and finding.gain_basis is Basis.UPPER_BOUND
    return LIKELY if is_bound else 1.0
