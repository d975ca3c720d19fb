"""What is lost at one line, and is not worth a word by any single activity or comes only once.

A call may make objects into text and write that, hash it and compress it: together that is one
change of the program. And what comes once, as results that are written at the end, is no part of
the steps; but where it took that much of the run, it is told. So is what sets the job up, where
that is more than a fifth of the run.
"""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Evidence, Finding, Spent
from perfscope.findings.core.gain import saved
from perfscope.findings.core.wording import place, there
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses import recursion, words
from perfscope.findings.losses.callees import Callee, FilesUse, callee_of
from perfscope.findings.losses.changes import of_world
from perfscope.findings.losses.groups import BOUNDED, Group, lost_to
from perfscope.judging import ALONE, MAIN
from perfscope.losses.entry import Entry, Saving
from perfscope.losses.savings import edits_of
from perfscope.losses.words import label
from perfscope.schema.enums import Activity, Confidence, LossKind, LossPattern
from perfscope.units import NS, capitalized, format_seconds, inside, listed

AT_ONCE = (
    "What is made piece by piece is written piece by piece: make all of it in memory and write it "
    "with one call (`file.write(json.dumps(data))`, not `json.dump(data, file)`), or save in a "
    "binary format."
)
KEPT = (
    "Where it reads the same each time, read it once, before the loop, and keep what comes of it; "
    "else save it in a binary format, which is read without going through text."
)
ASLEEP = (Activity.SLEEP, Activity.NETWORK, Activity.SUBPROCESS)
"""What has a finding of its own where it lasts, and may be no part of the steps."""

WRITES = {Activity.SERIALIZATION, Activity.FILES}


def apart(found: Sequence[Group]) -> list[Group]:
    """The groups without those that make and write the same thing, mostly at one line."""
    lines = [
        main_line(group) if group.entries[0].cause.activity in WRITES else None for group in found
    ]
    return [
        group
        for group, line in zip(found, lines, strict=True)
        if line is None or lines.count(line) == 1
    ]


def main_line(group: Group) -> tuple[object, int] | None:
    """The line at which most of a group is lost."""
    frame = group.entries[0].frame
    if frame is None or group.entries[0].ns < MAIN * group.ns:
        return None
    return frame.key, frame.line


def at_one_place(run: Facts, names: AbstractSet[str]) -> tuple[Finding, ...]:
    """Findings on lines of what is told by no finding of these names yet, most first."""
    by_line: defaultdict[tuple[object, int], list[Entry]] = defaultdict(list)
    for entry in run.losses.entries:
        frame, activity = entry.frame, entry.cause.activity
        is_once = entry.pattern is LossPattern.ONCE
        is_told = activity in BOUNDED or (is_once and activity in ASLEEP)
        is_work = is_told and entry.cause.kind is LossKind.OTHER_WORK
        if frame is None or not is_work or entry.causes > 1:
            continue
        if activity is not None and lost_to(activity) not in names:
            by_line[frame.key, frame.line].append(entry)
    told = (_without_set_up(run, members) for members in by_line.values())
    made = [one for members in told if members and (one := _finding(run, members)) is not None]
    made.sort(key=lambda one: -(one.gain_s or 0.0))
    first = {one.id: one for one in reversed(made)}  # an identity stands for one finding
    return tuple(one for one in made if first[one.id] is one)


def _without_set_up(run: Facts, members: Sequence[Entry]) -> Sequence[Entry]:
    """The losses of a line without those that set the job up, where these are little of the run."""
    early = [one for one in members if _is_at_start(run, one)]
    length_ns = run.results.focus.length_ns * len(run.results.trace.ranks)
    if sum(one.ns for one in early) > (1.0 - ALONE) * length_ns:
        return members
    return [one for one in members if one not in early]


def _is_at_start(run: Facts, entry: Entry) -> bool:
    """Whether something comes once, before the steps or in the first of them: to set the job up."""
    steps = run.losses.steps
    if entry.pattern is not LossPattern.ONCE or entry.steps is None or steps is None:
        return entry.pattern is LossPattern.ONCE
    return not len(steps.numbers) or entry.steps[0] <= int(steps.numbers[0])


def _finding(run: Facts, members: Sequence[Entry]) -> Finding | None:
    entries = sorted(members, key=lambda one: -one.ns)
    first = entries[0]
    is_once = all(one.pattern is LossPattern.ONCE for one in entries)
    edits = tuple(dict.fromkeys(edit for one in entries for edit in edits_of(one)))
    saving = run.savings.bound(edits)
    if first.cause.activity is None or not isinstance(saving, Saving):
        return None
    gain = saved(run.results, saving.seconds, edits=saving.edits)
    if gain.share < thresholds.FAIL_SHARE or (len(entries) == 1 and not is_once):
        return None  # one activity that lasts has a finding by itself where it is worth one
    status = thresholds.unless_chance(thresholds.by_gain(gain), gain)
    if is_once:
        status = thresholds.unless_once(status, gain.seconds, gain.share)
    ranks = tuple(dict.fromkeys(rank for one in entries for rank in one.ranks))
    callee = callee_of(run.results, first)
    group = Group(lost_to(first.cause.activity), tuple(entries), saving)
    kinds = _kinds(entries)
    what = capitalized(listed(list(map(inside, kinds))))
    return Finding(
        id=group.id,
        status=status,
        title=_title(entries, ranks, callee, what, verb=_verb(kinds), is_once=is_once),
        summary=(
            f"{what} {_take(kinds, ranks)} {format_seconds(_own_s(entries))} at "
            f"{'these lines' if first.also else 'one line'}"
            f"{', once' if is_once else ''}. Without all of it the run would be about "
            f"{format_seconds(gain.seconds)} shorter; what can be had depends on how it is done "
            "instead."
        ),
        gain=replace(gain, spent=_spent(entries, ranks)),
        confidence=Confidence.HIGH,
        ranks=ranks,
        where=words.frames(first),
        evidence=tuple(
            Evidence(f"{kind} at {place(first.frame)}", _lost_s(entries, kind), "s")
            for kind in kinds
        ),
        actions=(there(f"In {words.places(first)}", _action(run, group, callee)),),
    )


def _spent(entries: Sequence[Entry], ranks: Sequence[int]) -> Spent:
    is_sleep = all(one.cause.activity is Activity.SLEEP for one in entries)
    return Spent(_mean_s(entries, ranks), is_each=len(ranks) > 1, is_exact=is_sleep)


def _own_s(entries: Sequence[Entry]) -> float:
    return sum(one.own_ns for one in entries) * NS


def _mean_s(entries: Sequence[Entry], ranks: Sequence[int]) -> float:
    return _own_s(entries) / max(len(ranks), 1)


def _kinds(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The kinds of work, each once: one may be lost in several patterns."""
    return tuple(dict.fromkeys(map(label, entries)))


def _lost_s(entries: Sequence[Entry], kind: str) -> float:
    """What is lost to one kind of work there."""
    return sum(one.ns for one in entries if label(one) == kind) * NS


def _verb(kinds: Sequence[str]) -> str:
    return "takes" if len(kinds) == 1 else "take"


def _take(kinds: Sequence[str], ranks: Sequence[int]) -> str:
    """The verb, and of several ranks that their seconds are added up."""
    verb = _verb(kinds)
    return verb if len(ranks) <= 1 else f"{verb} the ranks together"


def _title(
    entries: Sequence[Entry],
    ranks: Sequence[int],
    callee: Callee | None,
    what: str,
    *,
    verb: str,
    is_once: bool,
) -> str:
    """`json.dump takes 15.1 s per rank, once, in main() (index.py:66)`.

    `ranks` are all that do any of it: of those the seconds are the mean.
    """
    each = format_seconds(_mean_s(entries, ranks))
    who = " per rank" if len(ranks) > 1 else ""
    name = callee.name if callee is not None else what
    does = "takes" if callee is not None else verb
    return f"{name} {does} {each}{who}{', once' if is_once else ''}, in {words.places(entries[0])}"


def _action(run: Facts, group: Group, callee: Callee | None) -> str:
    done = {one.cause.activity for one in group.entries}
    if done >= WRITES:
        is_read = callee is not None and callee.files_use is FilesUse.READS
        return KEPT if is_read else AT_ONCE
    change = recursion.change(run, group) or words.change_of(group.entries[0])
    return of_world(change, len(run.results.trace.ranks))
