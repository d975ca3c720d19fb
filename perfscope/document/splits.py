"""Where a saving comes from: what ranks spend by themselves, and what ends with it."""

from dataclasses import replace

from perfscope.document.breakdown import in_run_s
from perfscope.findings.core.finding import Finding, Gain
from perfscope.metrics.results import Results
from perfscope.savings import is_more
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry, Losses

OF_CAUSE = "lost_to_"
"""What the id of a finding begins with that is made from one cause of the loss account."""

BY_OTHERS = (LossKind.WAITING, LossKind.OUTSIDE)
"""Losses that are no time which a rank spends by itself inside the window."""


def split(finding: Finding, lost: Losses, results: Results) -> Finding:
    """The finding, whose saving tells what of it ranks spend by themselves where it is more.

    Waits are lost to those who wait: a finding of these has its seconds in rows already.
    """
    saving = finding.recommended
    if saving is None or len(results.trace.ranks) < 2 or results.devices is not None:
        return finding
    if finding.first and saving.own_s is None:
        return finding  # a part of what is lost: which part of the ranks' own time is not known
    found = replace(saving, own_s=_own_s(finding, saving, lost, results))
    return replace(finding, first=found) if finding.first else replace(finding, gain=found)


def _own_s(finding: Finding, saving: Gain, lost: Losses, results: Results) -> float | None:
    """What ranks spend by themselves, mean of all; None where the saving is no more than that."""
    own_s = saving.own_s
    if own_s is None:
        mine = [one for one in lost.entries if finding.id in one.findings]
        if not mine:
            return None
        mine = [one for one in mine if _is_cause(one, finding.id)] or mine
        if any(one.kind in BY_OTHERS for one in mine):
            return None
        own_s = sum(in_run_s(one, one.own_ns) for one in mine) / len(results.trace.ranks)
    return own_s if is_more(saving.seconds, own_s) else None


def _is_cause(entry: LossEntry, finding: str) -> bool:
    return entry.activity is not None and finding == f"{OF_CAUSE}{entry.activity.value}"
