"""One problem is one block: which findings of the first screen are another view of one before."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status


def leaders(top: Sequence[Finding]) -> dict[str, str]:
    """By id of a finding that of the one in whose block it stands; of those that lead theirs none.

    They are one where it is the same line on ranks of both, so that whoever looks there sees both,
    and where one explains the other: of two that overlap, one is uncertain for itself.
    """
    found: dict[str, str] = {}
    for place, one in enumerate(top):
        before = (other for other in top[:place] if other.id not in found)
        leader = next((other for other in before if _is_one(other, one)), None)
        if leader is not None:
            found[one.id] = leader.id
    return found


def _is_one(leader: Finding, finding: Finding) -> bool:
    if not set(leader.ranks) & set(finding.ranks):
        return False
    if leader.where and finding.where and leader.where[0] == finding.where[0]:
        return True
    overlaps = finding.id in leader.overlaps or leader.id in finding.overlaps
    return overlaps and Status.WARN in (leader.status, finding.status)
