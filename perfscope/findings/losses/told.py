"""A finding that another one speaks for."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Finding
from perfscope.judging import MAIN
from perfscope.losses.entry import Saving
from perfscope.losses.savings import Savings
from perfscope.replay.model import Edit
from perfscope.schema.enums import Status


def told_only(finding: Finding, identity: str, title: str) -> Finding:
    """A finding that claims nothing, as another one tells most of its time."""
    said = f"Most of this time has a finding of its own: {title}."
    return replace(
        finding,
        status=Status.INFO,
        gain=None,
        first=None,
        summary=f"{finding.summary} {said}",
        overlaps=(*finding.overlaps, identity),
    )


def is_left(finding: Finding, after: Sequence[Edit], savings: Savings) -> bool:
    """Whether most of what a finding is worth may be still there after a change."""
    left = savings.replayed(finding.edits, after=after)
    if not isinstance(left, Saving):
        return True
    _, most_s = left.interval_s or (0.0, left.seconds)
    return most_s > MAIN * (finding.gain_s or 0.0)
