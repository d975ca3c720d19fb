"""What a cache that is too small explains: all that its function is told to lose."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Finding
from perfscope.findings.losses.told import told_only
from perfscope.judging import MAIN

CACHE = "small_cache"


def told_by_caches(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what a function loses whose cache is too small is told by that cache.

    It is where the same ranks, or all, lose it in that function, and most of it may be results that
    had been computed before: nothing in the function has to be made faster for that.
    """
    cause = next((one for one in findings if one.id == CACHE and one.status.is_fault), None)
    if cause is None:
        return tuple(findings)
    return tuple(
        told_only(one, cause.id, cause.title) if _is_explained(one, cause) else one
        for one in findings
    )


def _is_explained(finding: Finding, cause: Finding) -> bool:
    is_there = bool(finding.where) and finding.where[0].key in {one.key for one in cause.where}
    is_theirs = set(finding.ranks) <= set(cause.ranks)
    is_most = (cause.gain_s or 0.0) > MAIN * (finding.gain_s or 0.0)
    return finding.status.is_fault and finding.id != cause.id and is_there and is_theirs and is_most
