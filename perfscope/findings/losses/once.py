"""One lost second is told by one finding: another cause named for the same seconds is quiet."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.core.thresholds import CHANCE_SHARE, FAIL_SHARE
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN
from perfscope.findings.losses import words
from perfscope.findings.losses.groups import Group, groups, lost_to
from perfscope.findings.losses.late_work import others_do_without
from perfscope.findings.losses.switched import priced
from perfscope.findings.losses.told import is_left, told_only
from perfscope.findings.losses.unclaimed import unclaimed
from perfscope.losses.entry import Entry, Saving
from perfscope.losses.savings import Savings
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity, Basis, LossPattern, Status

COMPILING = lost_to(Activity.COMPILING)

CROWDED = "threads_over_cores"

SETTINGS = "debug_settings"
REMEDIES = {COMPILING: "start_up", lost_to(Activity.DEBUGGING): SETTINGS}
"""What the loss account prices, and the diagnosis that knows the cause of it."""

PRICED = "What it costs, and what to do, stands at the finding that tells what is lost to it."
"""Of a cause whose title and remedy the loss account took over."""

UNCOMPILED = (lost_to(Activity.INTERPRETER), COMPILING)
"""What is lost in steps that call each operation from Python, as samples show it."""

NOTHING_DONE = (Activity.SLEEP, Activity.LOCK, Activity.NETWORK, Activity.SUBPROCESS)
"""What no other rank can take over a part of, and no faster CPU shortens."""


def told_by_their_cause(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; those whose seconds have a cause that rules out their remedy claim nothing.

    A rank that sleeps, or waits for a lock, a service or a process, is late, and others wait for
    it: dealing its work out, or making it as fast as the others, is no remedy. What others need
    before they go on is no evaluation, and none of it can be left to them meanwhile. And where
    work that is no training can go as a whole, as others that run the same do without, to deal it
    out saves less. The loss account has a finding of its own for that time, with all that it costs.
    """
    if not run.replay.available:
        return tuple(findings)
    savings = run.savings
    worth_s = FAIL_SHARE * run.results.focus.length_ns * 1e-9
    entries = [one for one in run.losses.entries if _rules_out(one) or one.cause.activity]
    causes = [one for one in groups(entries, savings) if one.saving.seconds >= worth_s]
    world = [rank.number for rank in run.results.trace.ranks]
    named = [(one, words.named(one, world)) for one in causes]
    quiet = [_with_cause(run, one, named) for one in findings]
    if all(one is before for one, before in zip(quiet, findings, strict=True)):
        return tuple(findings)
    told = {one.id for one in unclaimed(run, quiet) if one.status.is_fault}
    return tuple(
        one if one is before or one.overlaps[-1] in told else before
        for one, before in zip(quiet, findings, strict=True)
    )


def _rules_out(entry: Entry) -> bool:
    """Whether the cause of an entry leaves no other remedy than its own."""
    return entry.cause.activity in NOTHING_DONE or entry.pattern is LossPattern.CHAINED


def _with_cause(run: Facts, finding: Finding, causes: Sequence[tuple[Group, str]]) -> Finding:
    if not finding.status.is_fault or not finding.edits:
        return finding
    for cause, name in causes:
        if not _rules_out(cause.entries[0]) and not _is_leveled_for_less(run, finding, cause):
            continue
        if is_left(finding, _without(cause), run.savings):
            continue
        return told_only(finding, cause.id, name)
    return finding


def _is_leveled_for_less(run: Facts, finding: Finding, cause: Group) -> bool:
    """Whether a finding's change only deals out what can go, and surely saves less."""
    if any(edit.level is None for edit in finding.edits):
        return False
    can_go = cause.saving.basis is Basis.REPLAY
    if not can_go and not others_do_without(run.results, finding, cause.entries[0].cause.activity):
        return False
    _, most_s = finding.gain_interval_s or (0.0, finding.gain_s or 0.0)
    return cause.saving.seconds > most_s


def _without(cause: Group) -> tuple[Edit, ...]:
    """All that is about a cause taken away, of which its remedy may leave a part."""
    return tuple(replace(one, factor=0.0) for one in cause.saving.edits)


def with_remedy(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what a cause costs and what was seen of the cause itself are one.

    The loss account knows the price, and whoever counted compilations, or asked for a setting, the
    remedy.
    """
    by_id = {one.id: one for one in findings if one.status.is_fault}
    joined: dict[str, Finding] = {}
    for price, remedy in REMEDIES.items():
        lost, told = by_id.get(price), by_id.get(remedy)
        if lost and told and (remedy != SETTINGS or told.status is Status.WARN):
            is_mode = remedy == SETTINGS
            joined[price] = priced(run, lost, told) if is_mode else _cured(lost, told)
            quiet = told_only(told, price, lost.title)
            joined[remedy] = replace(quiet, summary=PRICED, actions=())
    return tuple(joined.get(one.id, one) for one in findings)


def _cured(lost: Finding, told: Finding) -> Finding:
    """What is lost, under the title and with the remedy of its cause."""
    return replace(
        lost,
        title=told.title,
        where=tuple(dict.fromkeys((*lost.where, *told.where))),
        evidence=(*told.evidence, *lost.evidence),
        actions=told.actions,
    )


def told_by_settings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; where steps are told not to be compiled, their Python code is what that costs.

    No line of the program is to be changed for it.
    """
    cause = next((one for one in findings if one.id == SETTINGS), None)
    if cause is None or cause.status is not Status.FAIL:
        return tuple(findings)
    return tuple(
        told_only(one, cause.id, cause.title)
        if one.id in UNCOMPILED and one.status.is_fault
        else one
        for one in findings
    )


def told_by_cpus(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; ranks that are late as threads of their own take their CPUs work no longer."""
    cause = next((one for one in findings if one.id == CROWDED and one.status.is_fault), None)
    if cause is None or cause.gain is None:
        return tuple(findings)
    return tuple(
        told_only(one, cause.id, cause.title) if _is_crowded(one, cause, run) else one
        for one in findings
    )


def _is_crowded(finding: Finding, cause: Finding, run: Facts) -> bool:
    """Whether what evening out saves is gone once the ranks that are late wait for CPUs no more.

    Where nothing can be replayed it is where they wait for as long as that.
    """
    if finding.id not in UNEVEN or not finding.status.is_fault or finding.ranks != cause.ranks:
        return False
    if run.replay.available and finding.edits:
        return not is_left(finding, cause.edits, run.savings)
    return (finding.gain_s or 0.0) <= (cause.gain_s or 0.0)


def told_once(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; of two that are about the same seconds one alone claims them.

    They are where the change of either leaves less than half of what the other is worth. What was
    replayed claims before what is a bound, and of two of a kind the one that is worth more. Where
    one change leaves less than half of the other only one way, one is a part of the other, and
    both are told, but for a part at the same line: that is one change of the program. What a
    finding that is told shares with one that claims before it is split off in its evidence.
    """
    if not run.replay.available:
        return tuple(findings)
    savings = run.savings_on_free_cpus
    loud = [one for one in findings if one.status.is_fault and one.gain and one.edits]
    loud.sort(key=_claims_after)
    kept: list[Finding] = []
    told: dict[str, Finding] = {}
    tellers: dict[str, Finding] = {}
    for one in loud:
        teller = _whole(one, loud, savings)
        teller = teller or next((other for other in kept if _is_same(one, other, savings)), None)
        if teller is None:
            told[one.id] = _split(one, kept, savings)
            kept.append(one)
        else:
            tellers[one.id] = teller
    for one in loud:
        if teller := tellers.get(one.id):
            while teller.id in tellers:
                teller = tellers[teller.id]
            told[one.id] = told_only(one, teller.id, teller.title)
    return tuple(told.get(one.id, one) for one in findings)


def _claims_after(finding: Finding) -> tuple[bool, float]:
    """What findings that claim seconds are sorted by."""
    is_bound = finding.gain is None or finding.gain.is_bound
    return is_bound, -(finding.gain_s or 0.0)


def _is_same(one: Finding, other: Finding, savings: Savings) -> bool:
    return not is_left(one, other.edits, savings) and not is_left(other, one.edits, savings)


def _whole(part: Finding, findings: Sequence[Finding], savings: Savings) -> Finding | None:
    """What is worth more, at the same line, and has a change that is that of the part as well.

    To deal work out is another change than to do without it. What it is worth is what its first
    action saves: no change gives back all that an ideal network would.
    """
    is_left_out = bool(part.where) and all(edit.level is None for edit in part.edits)
    at_line = (one for one in findings if is_left_out and one.where[:1] == part.where[:1])
    more = [one for one in at_line if _saved_s(one) > _saved_s(part)]
    more.sort(key=lambda one: -_saved_s(one))
    return next((one for one in more if not is_left(part, one.edits, savings)), None)


def _saved_s(finding: Finding) -> float:
    saving = finding.recommended
    return saving.seconds if saving else 0.0


def _split(finding: Finding, before: Sequence[Finding], savings: Savings) -> Finding:
    """A finding with what it shares with those that claim before it, most first."""
    shared = [(_shared_s(finding, other, savings), other) for other in before]
    worth = [(s, other) for s, other in shared if s >= CHANCE_SHARE * (finding.gain_s or 0.0)]
    worth.sort(key=lambda pair: -pair[0])
    rows = tuple(
        Evidence(f"Of its saving also that of “{other.title}”", seconds, "s")
        for seconds, other in worth
    )
    ids = [other.id for _, other in worth if other.id not in finding.overlaps]
    if not rows:
        return finding
    return replace(finding, evidence=(*finding.evidence, *rows), overlaps=(*finding.overlaps, *ids))


def _shared_s(finding: Finding, other: Finding, savings: Savings) -> float:
    """Seconds that a finding would save no more once the change of another one is made."""
    left = savings.replayed(finding.edits, after=other.edits)
    whole_s = finding.gain_s or 0.0
    return whole_s - min(left.seconds, whole_s) if isinstance(left, Saving) else 0.0
