"""What is lost and no diagnosis explains becomes a finding by itself."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds
from perfscope.findings.core.certainty import as_sure_as_its_interval
from perfscope.findings.core.finding import Evidence, Finding, Gain
from perfscope.findings.core.gain import as_bare_bound, as_bound, saved
from perfscope.findings.core.wording import place, ranks
from perfscope.findings.facts import lock_holder, sampled_places
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.imbalance_facts import JITTER_SHARE
from perfscope.findings.facts.repeated_reads import ReadAgain
from perfscope.findings.facts.repeated_reads import change as change_of
from perfscope.findings.facts.repeated_reads import evidence as evidence_of
from perfscope.findings.losses import lock_words, read_again, recursion, turns, words
from perfscope.findings.losses.around_calls import with_loop
from perfscope.findings.losses.callees import Callee, FilesUse, callee_of, is_needed, without_calls
from perfscope.findings.losses.changes import AFTER_TURNS, OF_FILES
from perfscope.findings.losses.claims import GROWTH, TRANSIENT, is_once
from perfscope.findings.losses.groups import (
    BOUNDED,
    NEEDED,
    Group,
    groups,
    lost_to,
    lost_to_waiting,
)
from perfscope.findings.losses.made_anew import with_made_anew
from perfscope.findings.losses.numbered_keys import with_numbered_keys
from perfscope.findings.losses.one_call import joined
from perfscope.findings.losses.one_place import apart, at_one_place
from perfscope.findings.losses.seen import is_seen
from perfscope.findings.losses.small_calls import with_small_calls
from perfscope.judging import ALONE, MAIN
from perfscope.losses.entry import Entry, Saving
from perfscope.losses.savings import Savings
from perfscope.losses.words import label
from perfscope.metrics.communication.call_sites import MOST_PLACES
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.savings import ROUGHLY
from perfscope.schema.enums import Account, Activity, Confidence, LossKind, LossPattern, Status
from perfscope.trace.model import Frame
from perfscope.units import NS, capitalized, format_seconds

JUDGED = (
    *map(lost_to_waiting, (LossPattern.STATIC, LossPattern.ONCE, LossPattern.SYSTEM)),
    "lost_to_transfer",
)
"""What diagnoses of their own judge in every run, so that it is no news here."""

CAUSES: Mapping[LossPattern | None, str] = {
    LossPattern.WINDOW: GROWTH,
    LossPattern.VARYING: TRANSIENT,
}
"""Diagnoses that tell what in the work of late ranks is longer in one part, or in single steps."""

SLOWS_OTHERS = (Activity.DEBUGGING,)
"""What makes other work longer, too, in which samples do not show it: checks of each result."""

NEEDED_IDS, BOUNDED_IDS = frozenset(map(lost_to, NEEDED)), frozenset(map(lost_to, BOUNDED))


def unclaimed(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings made from what is lost beyond all that the diagnoses found, most first.

    Each tells what its own change saves alone, as every finding does: `told_once` says what of it
    others claim as well.
    """
    savings = run.savings
    after = [edit for one in findings if _is_sure(one) for edit in one.changes]
    lasting = [one for one in run.losses.entries if not is_once(one)]
    lasting = [one for one in lasting if not is_needed(run.results, one)]
    found = [one for one in groups(lasting, savings, after) if one.id not in JUDGED]
    length_s = run.results.focus.length_ns * 1e-9
    worth = [group for group in found if group.saving.seconds >= thresholds.FAIL_SHARE * length_s]
    worth = [one for one in worth if not _is_cause_told(one, findings) and is_seen(run, one)]
    worth = apart(worth)
    if not savings.can_replay:
        worth = [group for group in worth if not _is_told(group, findings)]
    alone = {group.id: group for group in groups(lasting, savings)} if after else {}
    told = [alone.get(group.id, group) for group in worth if not _is_chance(run, group, savings)]
    made = [_finding(run, group) for group in joined(run, told)]
    names = {one.id for one in (*findings, *made)} | {group.id for group in told}
    made += at_one_place(run, names)
    return tuple(sorted(made, key=lambda one: -(one.gain_s or 0.0)))


def bounded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what work takes of which some is left is the most that a change can save.

    All of the time that it takes may be left: nobody has seen it done elsewhere or for less.
    """
    return tuple(_bounded(one) if one.id in BOUNDED_IDS else one for one in findings)


def _bounded(finding: Finding) -> Finding:
    return replace(finding, gain=finding.gain and as_bare_bound(finding.gain))


def _is_told(group: Group, findings: Sequence[Finding]) -> bool:
    """Whether a fault is in the same function: without a replay nothing else tells them apart."""
    frame = group.entries[0].frame
    told = {one.key for f in findings if f.status.is_fault for one in f.where}
    return frame is not None and frame.key in told


def _is_cause_told(group: Group, findings: Sequence[Finding]) -> bool:
    """Whether a diagnosis tells why work of the same function has others wait in such a pattern.

    Of work that is a loss by itself, only where what others wait for is nearly all of that loss.
    """
    diagnosis, late = CAUSES.get(group.entries[0].pattern), set(group.entries[0].ranks)
    least_s = 0.0 if _is_waiting(group) else ALONE * group.saving.seconds
    telling = [
        one
        for one in findings
        if one.id == diagnosis and late <= set(one.ranks) and (one.gain_s or 0.0) >= least_s
    ]
    return _is_told(group, telling)


def _is_sure(finding: Finding) -> bool:
    """Whether a finding's change can be made as it is replayed: a bound explains no loss away."""
    return finding.status.is_fault and finding.gain is not None and not finding.gain.is_bound


def _is_chance(run: Facts, group: Group, savings: Savings) -> bool:
    """Whether something else than the program may explain that ranks wait for each other.

    That work differs from step to step, a busy machine does as well: it is news only by what late
    ranks did while they had their CPUs, and where they are not late by turns for several steps on
    end. Turns that are taken in the median step are no chance, nothing but the program keeps count
    of steps, and a result that others need they need on a quiet machine as well.
    """
    if not _is_waiting(group):
        return False
    length_s = run.results.focus.length_ns * 1e-9
    pattern, least = group.entries[0].pattern, thresholds.FAIL_SHARE
    if pattern in (LossPattern.ALTERNATING, LossPattern.CHAINED):
        return False
    if pattern is LossPattern.VARYING:
        least = JITTER_SHARE
        if run.imbalance_judgment.facts.lasts:
            return True
    is_little = (1.0 - _queued(group)) * group.saving.seconds < least * length_s
    if is_little and pattern is LossPattern.SERIAL:  # the median step is the dearest to ask for
        return savings.usual_turns_s() < least * length_s
    return is_little


def _queued(group: Group) -> float:
    """The share of waiting that may be due to ranks that had no CPU; all where that is unknown."""
    most_ns = sum(one.ns * (1.0 if one.queued is None else one.queued[1]) for one in group.entries)
    return most_ns / group.ns if group.ns else 1.0


def _is_waiting(group: Group) -> bool:
    return group.entries[0].cause.kind is LossKind.WAITING


def _is_serial(group: Group) -> bool:
    return _is_waiting(group) and group.entries[0].pattern is LossPattern.SERIAL


def _finding(run: Facts, group: Group) -> Finding:
    entries = group.entries[:MOST_PLACES]
    meeting, callee = _meeting(run, group), callee_of(run.results, entries[0])
    gain = with_loop(run.results, group, meeting, _gain(run, group))
    status = thresholds.unless_chance(thresholds.by_gain(gain), gain)
    calls = _without_calls(run, group, callee)
    workers = turns.workers(run.losses.entries)[:MOST_PLACES] if _is_serial(group) else ()
    gain = replace(calls or gain, spent=words.spent(group, callee if calls else None))
    worked = [one.frame for one in workers]
    worked = worked if workers else [frame for one in entries for frame in words.frames(one)]
    is_lock = entries[0].cause.activity is Activity.LOCK
    holder = lock_holder.holder_for(run.results, group.ranks) if is_lock else None
    is_guess = holder is not None and lock_holder.is_inferred(holder)
    held = _held(holder, group.ranks, is_lock=is_lock)
    again = read_again.seen(run, group)
    told = callee if calls or words.is_archive(entries[0], callee) else None
    found = Finding(
        id=group.id,
        status=status,
        title=_title(run, group, meeting, workers, again, told, holder),
        summary=_summary(group, gain),
        gain=gain,
        # what ranks did is seen, and why others wait is inferred from the pattern of their waits;
        # who holds a lock is inferred from what runs while others wait for it
        confidence=Confidence.MEDIUM if _is_waiting(group) or is_guess else Confidence.HIGH,
        ranks=group.ranks,
        where=_places(group, lock_holder.frames(holder), meeting, worked),
        evidence=(*_told(run, group, meeting), *evidence_of(again), *held),
        actions=(
            lock_holder.action(holder, entries[0].frame, group.ranks)
            if holder
            else _action(run, group, gain, workers, again, callee, next(iter(meeting), None)),
        ),
        holder=lock_holder.typed(holder),
    )
    found = with_numbered_keys(run, group, with_made_anew(run, group, found))
    found = with_small_calls(run, group, found)
    found = _changed_elsewhere(run, group, workers, found)
    return as_sure_as_its_interval(found) if status is not Status.INFO else found


def _changed_elsewhere(
    run: Facts, group: Group, workers: Sequence[turns.Worker], found: Finding
) -> Finding:
    """The finding; one whose place is a wait, or only where a setting costs most, says so."""
    if workers and not words.is_of_one(group):
        waited = turns.waited(workers, len(run.results.trace.ranks))
        spent = waited if waited.is_each else None  # else it is the sum of several that wait
        gain = found.gain and replace(found.gain, spent=spent)
        actions = (*found.actions, *AFTER_TURNS)
        return replace(found, gain=gain, actions=actions, is_elsewhere=True)
    return replace(found, is_elsewhere=group.entries[0].cause.activity in SLOWS_OTHERS)


def _gain(run: Facts, group: Group) -> Gain:
    return saved(
        run.results,
        group.saving.seconds,
        interval_s=_interval(run, group),
        basis=group.saving.basis,
        edits=group.saving.edits,
    )


def _without_calls(run: Facts, group: Group, callee: Callee | None) -> Gain | None:
    """What the run is shorter by without all calls of a library's function that runs Python code.

    Nobody can change the library: called less often, its compiled code runs less often as well.
    Where Python code of other places is more than the compiled code, that is counted instead. None
    where the calls are not the main part of what is lost.
    """
    first = group.entries[0]
    if callee is None or first.cause.activity is not Activity.INTERPRETER:
        return None
    found, whole = run.savings.bound(without_calls(first, callee)), group.saving
    if not isinstance(found, Saving) or found.seconds < MAIN * whole.seconds:
        return None
    most = max(found, whole, key=lambda one: one.seconds)
    gain = as_bare_bound(saved(run.results, most.seconds, edits=most.edits))
    spent_s = sum(callee.seconds.values()) / len(run.results.trace.ranks)
    if most is found:
        return replace(gain, own_s=spent_s)
    return replace(gain, counts="counts Python code of all places", counts_more=True)


def _places(group: Group, *found: Sequence[Frame]) -> tuple[Frame, ...]:
    """Where to look: at who holds what is waited for, at the wait, at the work.

    Where all wait for one rank it is its work, and not the wait, that is to change.
    """
    held, meeting, worked = found
    ordered = (held, worked, meeting) if words.is_of_one(group) else (held, meeting, worked)
    return tuple(dict.fromkeys(frame for frames in ordered for frame in frames))


def _told(run: Facts, group: Group, meeting: Sequence[Frame]) -> tuple[Evidence, ...]:
    """The largest losses of a group, where ranks were seen to wait, and for want of CPUs."""
    seen = sampled_places.rows(run.results.call_sites.waiting, meeting)
    is_one = len({one.cause.activity for one in group.entries}) == 1
    rows = [_evidence(one, is_one=is_one) for one in group.entries[:MOST_PLACES]]
    return (*rows, *seen, *_cpus(group))


def _held(
    holder: LockHolder | None, waiting: Collection[int], *, is_lock: bool
) -> tuple[Evidence, ...]:
    """Who was seen at work while a lock was waited for, or that nobody was."""
    if holder is not None:
        return (lock_holder.evidence(holder, waiting),)
    return (Evidence("What holds it", lock_words.UNSEEN),) if is_lock else ()


def _slows_others(group: Group) -> bool:
    return group.entries[0].cause.activity in SLOWS_OTHERS


def _interval(run: Facts, group: Group) -> tuple[float, float] | None:
    """The interval of a saving: also of what nothing tells from other work, up to all of that."""
    interval = group.saving.interval_s
    if interval is None or not _slows_others(group):
        return interval
    work_ns = sum(
        run.results.ledger.ns[INDEX[one]] for one in (Account.TRAINING, Account.COMPUTATION)
    )
    return interval[0], max(interval[1], float(max(work_ns)) * NS)


def _title(
    run: Facts,
    group: Group,
    meeting: Sequence[Frame],
    workers: Sequence[turns.Worker],
    again: ReadAgain | None,
    callee: Callee | None,
    holder: LockHolder | None,
) -> str:
    world = [rank.number for rank in run.results.trace.ranks]
    if again is not None:
        return read_again.title(again, group, world)
    return words.title(
        group,
        world,
        meeting[0] if meeting else None,
        workers=workers,
        callee=callee,
        held=lock_holder.held_in(holder, group.ranks) if holder else "",
    )


def _action(
    run: Facts,
    group: Group,
    gain: Gain,
    workers: Sequence[turns.Worker],
    again: ReadAgain | None,
    callee: Callee | None,
    meeting: Frame | None,
) -> str:
    told = as_bound(gain) if group.id in NEEDED_IDS else gain  # of work that is needed
    world = len(run.results.trace.ranks)
    of_archive = OF_FILES[FilesUse.ARCHIVE] if words.is_archive(group.entries[0], callee) else ""
    change = change_of(again, of_archive) if again else recursion.change(run, group)
    one_line = not change and _is_one_line(run, group)
    action = words.action(
        group,
        told,
        world,
        turns.by_turns(workers, told, world, meeting),
        is_one_line=one_line,
        change=change,
        callee=callee,
    )
    return action if again else f"{action}{read_again.anew(run, group, callee)}"


def _is_one_line(run: Facts, group: Group) -> bool:
    """Whether samples show a single line of the function that most is lost in."""
    frame = group.entries[0].frame
    if frame is None:
        return False
    lines = {
        row.where.line
        for row in run.results.activities.rows
        if row.where is not None and row.where.key == frame.key
        if row.activity is group.entries[0].cause.activity
    }
    return len(lines) == 1


def _meeting(run: Facts, group: Group) -> tuple[Frame, ...]:
    """Where ranks that take turns wait for each other: that is what to change, not their work.

    Of communication, where it is called.
    """
    if group.entries[0].cause.kind is LossKind.COMMUNICATION:
        return sampled_places.main_place(run.results.call_sites.transfer)
    if not _is_serial(group):
        return ()
    return sampled_places.frames(run.results.call_sites.waiting)


def _evidence(entry: Entry, *, is_one: bool) -> Evidence:
    """Where something is lost; what it is as well where a group is not one activity."""
    name = place(entry.frame) or entry.cause.operation or "elsewhere"
    return Evidence(name if is_one else f"{label(entry)} at {name}", entry.ns * 1e-9, "s")


def _cpus(group: Group) -> tuple[Evidence, ...]:
    if not _is_waiting(group) or any(one.queued is None for one in group.entries):
        return ()
    what = "Of it at most, for want of CPUs on the late ranks"
    return (Evidence(what, _queued(group) * group.ns * 1e-9, "s"),)


def _summary(group: Group, gain: Gain) -> str:
    told = words.summary(group.entries[0])
    own_s = sum(one.own_ns for one in group.entries) * 1e-9
    waiting_s = sum(one.waiting_ns for one in group.entries) * 1e-9
    is_one = len(group.ranks) == 1
    who = f"{ranks(group.ranks)} spends" if is_one else "the ranks together spend"
    spent = f"{who} {format_seconds(own_s)} on it" if own_s else ""
    waits = f"others wait {format_seconds(waiting_s)} for it" if waiting_s else ""
    parts = ", and ".join(part for part in (spent, waits) if part)
    said = f"{capitalized(parts)}. {told}".strip()
    if group.id in NEEDED_IDS:
        most = f"at most {format_seconds(gain.seconds)}, as a replay without any of it tells"
        return f"{said} What can be had depends on where and how it is done instead: {most}."
    most = ROUGHLY if group.id in BOUNDED_IDS else gain.roughly
    shorter = f"{most}{format_seconds(gain.seconds)} shorter"
    if _slows_others(group):
        shorter += ", or more: what other work it slows down as well cannot be told from that work"
    return f"{said} Without it the run would be {shorter}."
