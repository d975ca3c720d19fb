"""Which findings explain which losses."""

from collections.abc import Sequence
from math import inf

from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import groups
from perfscope.judging import MAIN
from perfscope.losses.cause import LossCause
from perfscope.losses.entry import Entry, Saving
from perfscope.losses.savings import Savings, edits_of
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity, LossPattern

GROWTH = "growing_steps"
TRANSIENT = "transient_imbalance"

AT_START = (Activity.IMPORTING, Activity.COMPILING)
"""What programs do when they begin, whatever the functions in which they do it work on later."""


def is_once(entry: Entry) -> bool:
    """Whether a loss comes once a run, however long that is, as far as can be told.

    What programs do when they begin does, unless the steps tell that it comes again in them.
    """
    at_start = entry.pattern is None and entry.cause.activity in AT_START
    return at_start or entry.pattern is LossPattern.ONCE


def claims(run: Facts, findings: Sequence[Finding]) -> dict[LossCause, tuple[str, ...]]:
    """Which findings explain which losses: those whose change leaves less than half of them.

    What a finding of the account itself is about is explained by it, and what a function loses that
    grows by its growth. None explains what would save more than twice what it claims itself.
    """
    result: dict[LossCause, tuple[str, ...]] = {}
    if not run.replay.available:
        return result
    savings = run.savings
    faults = [one for one in findings if one.status.is_fault]
    worth_s = thresholds.WARN_SHARE * run.results.focus.length_ns * 1e-9
    for entry in run.losses.entries:
        saving = entry.saving
        if not isinstance(saving, Saving) or saving.seconds < worth_s:
            continue
        (group,) = groups([entry], savings) or (None,)
        whole_s = group.saving.seconds if group else saving.seconds
        ids = [
            one.id
            for one in faults
            if (group and one.id == group.id)
            or _is_of(one, entry)
            or _is_all_there(one, entry, whole_s)
            or (one.id == GROWTH and _is_growth(one, entry, whole_s))
            or (
                _is_as_much(one, whole_s) and _left_s(entry, savings, one.changes) <= MAIN * whole_s
            )
        ]
        result[entry.cause] = tuple(ids)
    return result


def _is_growth(growing: Finding, entry: Entry, whole_s: float) -> bool:
    """Whether an entry is of the function that grows, whatever that does, and mostly by growth."""
    if entry.frame is None or not growing.where:
        return False
    is_there = entry.frame.key == growing.where[0].key
    return is_there and _claimed_s(growing) >= MAIN * whole_s


def _is_all_there(finding: Finding, entry: Entry, whole_s: float) -> bool:
    """Whether a finding without a change that could be replayed is of the function of an entry."""
    if entry.frame is None or entry.cause.activity in AT_START:
        return False
    is_there = entry.frame.key in {one.key for one in finding.where[:1]}
    return is_there and not finding.changes and _claimed_s(finding) >= MAIN * whole_s


def _is_as_much(finding: Finding, whole_s: float) -> bool:
    """Whether a finding's change, all of it, claims as much as it would have to explain."""
    return bool(finding.changes) and _claimed_s(finding) >= MAIN * whole_s


def _claimed_s(finding: Finding) -> float:
    """What a finding's change saves in the run as it was, whoever else used the host."""
    gain = finding.gain
    return 0.0 if gain is None else max(gain.seconds, gain.under_load_s or 0.0)


def _is_of(finding: Finding, entry: Entry) -> bool:
    """Whether a finding is about an entry's kind of loss, in its function where that has one."""
    function = entry.cause.function
    is_there = function is None or function in {one.key for one in finding.where}
    return finding.id == entry.cause.kind.value and is_there


def _left_s(entry: Entry, savings: Savings, after: Sequence[Edit]) -> float:
    """What an entry still costs after a change; without end where that cannot be told."""
    found = groups([entry], savings, after)
    if found:
        return found[0].saving.seconds
    left = savings.replayed(edits_of(entry), after=after)
    return left.seconds if isinstance(left, Saving) else inf
