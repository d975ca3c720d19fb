"""What subnormal values explain: steps that grow with them, and a rank that alone has them."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.certainty import less_sure
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.told import told_only
from perfscope.judging import MAIN
from perfscope.trace.model import Function
from perfscope.units import format_seconds

SLOW, GROWING = "slow_operands", "growing_steps"
UNEVEN = ("load_imbalance", "straggler")
"""Of which one fires."""


def with_slow_values(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what subnormal values explain is told by the finding about these alone.

    Values that decay make the same work longer with every step, and longer on the ranks whose
    values do: in functions that were seen to take them nothing else need be kept or dealt out.
    """
    slow = next((one for one in findings if one.id == SLOW and one.status.is_fault), None)
    seen = _seen(run)
    if slow is None or not slow.where or slow.where[0].key not in {key for _, key in seen}:
        return tuple(findings)
    by_id = {one.id: one for one in findings if one.status.is_fault and _is_most(slow, one)}
    told: dict[str, Finding] = {}
    growing, uneven = by_id.get(GROWING), next((by_id[one] for one in UNEVEN if one in by_id), None)
    if growing and growing.where and growing.where[0].key in {key for _, key in seen}:
        told[SLOW] = _with_growth(slow, growing)
        told[GROWING] = told_only(growing, SLOW, slow.title)
    if uneven and uneven.where and _is_of_ranks(uneven, seen):
        told[uneven.id] = told_only(uneven, SLOW, slow.title)
    return tuple(told.get(one.id, one) for one in findings)


def _seen(run: Facts) -> set[tuple[int, Function]]:
    """Ranks and their functions that were seen to take subnormal values, however seldom."""
    return {
        (rank.number, site.frame.key)
        for rank, sites in zip(run.results.trace.ranks, run.worked_on, strict=True)
        for site in sites
        if site.is_innermost and any(one.share("subnormal") for one in site.operands)
    }


def _is_most(slow: Finding, other: Finding) -> bool:
    """Whether the slow values may take the main part of what another finding is about."""
    return (slow.gain_s or 0.0) > MAIN * (other.gain_s or 0.0)


def _is_of_ranks(uneven: Finding, seen: set[tuple[int, Function]]) -> bool:
    """Whether the ranks that work longer take such values where they do, and no others do."""
    return {rank for rank, key in seen if key == uneven.where[0].key} == set(uneven.ranks)


def _with_growth(slow: Finding, growing: Finding) -> Finding:
    """The slow values with the growth that is theirs, and what that costs where it is more."""
    rows = (*slow.evidence, *growing.evidence)
    joined = replace(slow, evidence=tuple(dict.fromkeys(rows)))
    if slow.gain is None or growing.gain is None or growing.gain.seconds <= slow.gain.seconds:
        return joined
    return replace(
        joined,
        status=growing.status,
        gain=growing.gain,
        confidence=less_sure(slow.confidence, growing.confidence),
        is_inferred=slow.is_inferred or growing.is_inferred,
        summary=(
            f"{slow.summary} {growing.title}: that costs {format_seconds(growing.gain.seconds)}, "
            "which is more, and is what the fix saves at most."
        ),
    )
