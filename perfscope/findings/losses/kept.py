"""What explains all that a function is told to lose: a cache, copies, searches in a list."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Finding
from perfscope.findings.losses.told import told_only
from perfscope.judging import MAIN

CAUSES = "growing_copies", "searched_lists", "small_cache"


def told_by_needless(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what a function loses mostly by such a cause is told by that cause.

    It is where the same ranks, or all, lose it in that function: nothing in the function has to be
    made faster for that, where results had been computed before or copies are needless.
    """
    causes = [one for one in findings if one.id in CAUSES and one.status.is_fault]
    for cause in causes:
        findings = [
            told_only(one, cause.id, cause.title) if _is_explained(one, cause) else one
            for one in findings
        ]
    return tuple(findings)


def _is_explained(finding: Finding, cause: Finding) -> bool:
    is_there = bool(finding.where) and finding.where[0].key in {one.key for one in cause.where}
    is_theirs = set(finding.ranks) <= set(cause.ranks)
    is_most = (cause.gain_s or 0.0) > MAIN * (finding.gain_s or 0.0)
    return finding.status.is_fault and finding.id != cause.id and is_there and is_theirs and is_most
