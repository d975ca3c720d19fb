"""A late rank that does nothing while others wait: what it waits for is the cause, and told."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses import words
from perfscope.findings.losses.groups import Group, groups
from perfscope.losses.entry import Saving
from perfscope.losses.savings import Savings
from perfscope.schema.enums import Activity, Status

NOTHING_DONE = (Activity.SLEEP, Activity.LOCK, Activity.NETWORK, Activity.SUBPROCESS)
"""What no other rank can take over a part of, and no faster CPU shortens."""

LEFT = 0.5
"""Of what a finding saves: where less is left without the idle time, that is its cause."""


def told_by_their_cause(
    run: Facts, findings: Sequence[Finding], *, worth_s: float
) -> tuple[Finding, ...]:
    """The findings; those whose seconds come back with some idle time claim nothing any more.

    A rank that sleeps, or waits for a lock, a service or a process, is late, and others wait for
    it: dealing its work out, or making it as fast as the others, is no remedy. The loss account
    has a finding of its own for that time, with all that it costs.

    Args:
        run: facts of the run.
        findings: what the diagnoses found.
        worth_s: what idle time has to cost to be a finding.
    """
    if not run.replay.available:
        return tuple(findings)
    savings = Savings(run.replay, run.losses.steps)
    entries = [one for one in run.losses.entries if one.cause.activity in NOTHING_DONE]
    causes = [one for one in groups(entries, savings) if one.saving.seconds >= worth_s]
    return tuple(_with_cause(one, causes, savings) for one in findings)


def _with_cause(finding: Finding, causes: Sequence[Group], savings: Savings) -> Finding:
    gain = finding.gain
    if not finding.status.is_fault or gain is None or gain.is_bound or not gain.edits:
        return finding
    for cause in causes:
        left = savings.replayed(gain.edits, after=cause.saving.edits)
        if isinstance(left, Saving) and left.seconds <= LEFT * gain.seconds:
            return _told_only(finding, cause)
    return finding


def _told_only(finding: Finding, cause: Group) -> Finding:
    activity = cause.entries[0].cause.activity
    assert activity is not None
    what = words.OF_ACTIVITY[activity][0]
    said = f"Most of this time is of another kind, and has a finding of its own: {what.lower()}."
    return replace(
        finding, status=Status.INFO, gain=None, first=None, summary=f"{finding.summary} {said}"
    )
