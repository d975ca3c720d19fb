"""Work that takes longer and longer, and what the loss account says of the same function."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.core.gain import as_bare_bound
from perfscope.findings.losses.groups import lost_to
from perfscope.findings.losses.told import told_only
from perfscope.judging import MAIN
from perfscope.schema.enums import Activity

GROWING = "growing_steps"
LOST = {lost_to(one): one for one in Activity}


def with_growth(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what is lost in a function mostly by its growth is told by the growth.

    That a function is slow Python code, or prepares data, says how it spends its time. That it has
    more to do from step to step says why, and what to change.
    """
    growing = next((one for one in findings if one.id == GROWING and one.status.is_fault), None)
    if growing is None or not growing.where:
        return tuple(findings)
    same = [one for one in findings if _is_of_growth(one, growing)]
    most = max(same, key=lambda one: one.gain_s or 0.0, default=None)
    if most is None:
        return tuple(findings)
    told = {one.id: told_only(one, GROWING, growing.title) for one in same}
    told[GROWING] = _with_all_of_it(growing, most, same)
    return tuple(told.get(one.id, one) for one in findings)


def _is_of_growth(lost: Finding, growing: Finding) -> bool:
    """Whether a loss is in the function that grows, and most of it is growth."""
    if lost.id not in LOST or not lost.status.is_fault or not lost.where:
        return False
    is_same = lost.where[0].key == growing.where[0].key
    return is_same and (growing.gain_s or 0.0) > MAIN * (lost.gain_s or 0.0)


def _seconds(lost: Finding) -> Iterator[Evidence]:
    """What a loss shows, each of its seconds with what they were spent on."""
    what = LOST[lost.id].label
    for one in lost.evidence:
        told = f"{what} in {one.label}, with the waiting it causes"
        yield replace(one, label=told) if one.unit == "s" else one


def _with_all_of_it(growing: Finding, lost: Finding, same: Sequence[Finding]) -> Finding:
    """The growth with what the function costs in all, where that is more than its growth does."""
    shown = (row for one in same for row in _seconds(one))
    joined = replace(growing, evidence=tuple(dict.fromkeys((*growing.evidence, *shown))))
    if growing.gain is None or lost.gain is None or lost.gain.seconds <= growing.gain.seconds:
        return joined
    return replace(
        joined,
        status=lost.status,
        gain=as_bare_bound(lost.gain),
        summary=f"{growing.summary} {lost.title}: without any of that, the run would be shorter by "
        "what is claimed here.",
    )
