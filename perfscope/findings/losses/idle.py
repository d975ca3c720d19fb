"""A late rank that does nothing while others wait: what it waits for is the cause, and told."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses import words
from perfscope.findings.losses.groups import Group, groups
from perfscope.findings.losses.unclaimed import LEFT, WORTH, unclaimed
from perfscope.losses.entry import Saving
from perfscope.losses.savings import Savings
from perfscope.schema.enums import Activity, Status

NOTHING_DONE = (Activity.SLEEP, Activity.LOCK, Activity.NETWORK, Activity.SUBPROCESS)
"""What no other rank can take over a part of, and no faster CPU shortens."""


def told_by_their_cause(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; those whose seconds come back with some idle time claim nothing any more.

    A rank that sleeps, or waits for a lock, a service or a process, is late, and others wait for
    it: dealing its work out, or making it as fast as the others, is no remedy. The loss account
    has a finding of its own for that time, with all that it costs.
    """
    if not run.replay.available:
        return tuple(findings)
    savings = Savings(run.replay, run.losses.steps)
    worth_s = WORTH * run.results.focus.length_ns * 1e-9
    entries = [one for one in run.losses.entries if one.cause.activity in NOTHING_DONE]
    causes = [one for one in groups(entries, savings) if one.saving.seconds >= worth_s]
    quiet = [_with_cause(one, causes, savings) for one in findings]
    if all(one is before for one, before in zip(quiet, findings, strict=True)):
        return tuple(findings)
    told = {one.id for one in unclaimed(run, quiet) if one.status.is_fault}
    return tuple(
        one if one is before or one.overlaps[-1] in told else before
        for one, before in zip(quiet, findings, strict=True)
    )


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
        finding,
        status=Status.INFO,
        gain=None,
        first=None,
        summary=f"{finding.summary} {said}",
        overlaps=(*finding.overlaps, cause.id),
    )
