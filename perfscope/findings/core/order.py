"""Which finding comes first: the one of which most is expected to be had."""

from perfscope.findings.core.finding import Finding, Gain
from perfscope.judging import MAIN, MAJOR

LIKELY = MAIN
"""Of a bound, what a change is expected to save: anything from nothing to all of it may be left.

So a replayed saving comes before every bound of which it is the main part.
"""


def likely_s(finding: Finding) -> float:
    """Seconds that what is recommended is expected to save; 0.0 where none are claimed.

    All that was replayed, and of a bound a part; a first action may leave the rest of it already.
    """
    saving = finding.recommended
    return saving.seconds * _likely(finding, saving) if saving else 0.0


def likely_share(finding: Finding) -> float:
    """The same as a share of the focus of analysis.

    Without seconds of what is at stake, as of any bound; of what nobody can price, of so much that
    no major problem that is priced comes behind it.
    """
    saving = finding.recommended
    if saving is None:
        return LIKELY * (finding.at_stake.share if finding.at_stake else MAJOR)
    return saving.share * _likely(finding, saving)


def _likely(finding: Finding, saving: Gain) -> float:
    is_part = saving is finding.first and saving.seconds < (finding.gain_s or 0.0)
    return LIKELY if saving.is_bound and not is_part else 1.0
