"""What is said of losses that no diagnosis explains: titles, and what to look at."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Gain, Spent
from perfscope.findings.core.wording import place, ranks, there
from perfscope.findings.losses import lock_words
from perfscope.findings.losses.callees import Callee, FilesUse
from perfscope.findings.losses.changes import (
    CHANGES,
    DRAWS,
    IN_LIBRARY,
    OF_CALLS,
    OF_DRAWING,
    OF_FILES,
    OF_PATTERN,
    OF_SEARCH,
    OF_SPARSE,
    ONE_LINE,
    SEARCHES,
    TRANSFER_ACTION,
    WINDOWS_ACTION,
    of_world,
)
from perfscope.findings.losses.groups import Group, class_of
from perfscope.findings.losses.turns import Worker, waiting
from perfscope.judging import MAIN
from perfscope.losses.entry import Entry
from perfscope.losses.words import label
from perfscope.savings import SAME_FROM
from perfscope.schema.enums import Activity, LossKind, LossPattern
from perfscope.trace.model import Frame
from perfscope.trace.operations import BY_NAME, OperationClass
from perfscope.units import NS, capitalized, format_seconds, inside, listed

READING = "Reading an archive (zip)"


def title(
    group: Group,
    world: Sequence[int],
    meeting: Frame | None = None,
    *,
    workers: Sequence[Worker] = (),
    callee: Callee | None = None,
    held: str = "",
) -> str:
    """What is lost, by whom and where; of what ranks do themselves also how long it takes.

    `world` are all ranks of the run.
    `meeting` is where ranks that take turns wait for each other, or communicate; None unknown.
    `workers` are those that others wait for by turns, told where they meet nowhere; the action
    tells who waits for whom. `callee` is what a library does, of which the interpreter is a part,
    or that reads an archive.
    `held` says where a lock is held meanwhile, which is the line to change.
    """
    first = group.entries[0]
    where = places(first)
    seen = f", {mainly(group)}in {where}" if where else ""
    if callee is not None and first.cause.activity is Activity.INTERPRETER:
        who = f" on {ranks(tuple(callee.seconds))}" if len(callee.seconds) == 1 else " per rank"
        who = who if len(world) > 1 else ""
        return f"{callee.name} takes {format_seconds(callee.mean_s)}{who}, called in {where}"
    if first.cause.activity is not None:
        is_one = len(_activities(group)) == 1
        does = f"{'takes' if is_one else 'take'} {spent_by(group, world)}"
        if not _each_s(group):  # it is known by those alone who wait for it
            does = f"{'is' if is_one else 'are'} slowing the run"
        is_read = is_one and is_archive(first, callee)
        return f"{READING if is_read else named(group, world)} {does}{held or seen}"
    if first.cause.kind is LossKind.COMMUNICATION:
        inside = f" in {place(meeting)}" if place(meeting) else ""
        told = f", mainly {first.cause.operation}{inside}"
        return f"{named(group, world)} is slowing the run{told}"
    if first.cause.kind is LossKind.TRANSFER:
        operation = next((one.cause.operation for one in group.entries if one.cause.operation), "")
        inside = f", mainly in {operation}" if operation else ""
        return f"{first.cause.kind.label} is slowing the run{inside}"
    if first.pattern is not LossPattern.SERIAL:
        return named(group, world, seen)
    if is_of_one(group):
        return named(group, world, f" in {place(workers[0].frame)}" if workers else seen)
    if met := place(meeting):
        seen = f", mainly in {met}"
    elif workers:
        main = [one for one in workers if one.waiting_ns >= MAIN * workers[0].waiting_ns]
        seen = " " + listed([f"for {ranks(one.ranks)} in {place(one.frame)}" for one in main])
    return f"{named(group, world)}{seen}"


def places(entry: Entry) -> str:
    """Where something is: `main() (index.py:66) and line 68`; "" where no place is known."""
    where = place(entry.frame)
    if not where or not entry.also:
        return where
    others = listed([str(line) for line in entry.also])
    return f"{where} and line{'' if len(entry.also) == 1 else 's'} {others}"


def frames(entry: Entry) -> tuple[Frame, ...]:
    """The lines to look at, most first; none where no place is known."""
    if (first := entry.frame) is None:
        return ()
    return (first, *(Frame(first.function, first.file, line) for line in entry.also))


def mainly(group: Group) -> str:
    """`mainly ` where more than a little of what is lost is elsewhere, else ""."""
    return "" if group.entries[0].ns >= SAME_FROM * group.ns else "mainly "


def spent_by(group: Group, world: Sequence[int]) -> str:
    """`9.17 s on rank 0`, or `4.00 s per rank` of several, waiting of others left out."""
    each = format_seconds(_each_s(group))
    if len(group.ranks) > 1:
        return f"{each} per rank"
    return f"{each} on {ranks(group.ranks)}" if len(world) > 1 and group.ranks else each


def _each_s(group: Group) -> float:
    return sum(one.own_ns for one in group.entries) * NS / max(len(group.ranks), 1)


def spent(group: Group, callee: Callee | None) -> Spent | None:
    """What the title, or else the action, says that it takes a rank; None of what only waits."""
    first = group.entries[0]
    is_exact = first.cause.activity is Activity.SLEEP
    if callee is not None:
        return Spent(callee.mean_s, is_each=len(callee.seconds) > 1, is_exact=is_exact)
    if not _each_s(group) or first.cause.activity is None or not first.ranks:
        return None
    return Spent(_each_s(group), is_each=len(group.ranks) > 1, is_exact=is_exact)


def named(group: Group, world: Sequence[int], at: str = "") -> str:
    """What is lost, in a few words; `at` says where those who are waited for are meanwhile."""
    first = group.entries[0]
    if first.cause.activity is not None:
        name, *others = _activities(group)
        return listed([name, *map(inside, others)])
    if first.cause.kind is LossKind.COMMUNICATION:
        return OF_CALLS[_class_of(first)][0]
    return _of_ranks(OF_PATTERN[_told_pattern(group)][0], group.ranks, world, at)


def _activities(group: Group) -> list[str]:
    """What is done in a group, those that cost most first: one, or what one call does."""
    names: dict[object, str] = {}
    for one in group.entries:
        names.setdefault(one.cause.activity, label(one))
    return list(dict.fromkeys(names.values()))


def is_of_one(group: Group) -> bool:
    """Whether waiting inside the steps is for one rank alone: nobody takes turns with it."""
    first = group.entries[0]
    return first.pattern is LossPattern.SERIAL and len(group.ranks) == 1


def _told_pattern(group: Group) -> LossPattern:
    pattern = LossPattern.CHAINED if is_of_one(group) else group.entries[0].pattern
    assert pattern is not None
    return pattern


def _class_of(entry: Entry) -> OperationClass:
    found = class_of(entry.cause.operation)
    assert found is not None
    return found


def _of_ranks(told: str, causing: tuple[int, ...], world: Sequence[int], at: str) -> str:
    """What is seen, of one rank or of several, and who waits meanwhile."""
    who = ranks(causing) if causing else "some ranks"
    each = who if len(causing) == 1 else "now one rank, now another"
    if len(causing) > 1:
        each = f"each of {who}" if len(causing) < len(world) else "each rank"
    work = "works" if len(causing) == 1 else "work"
    rest, wait = waiting(causing, world)
    return capitalized(told.format(ranks=who, each=each, work=work, rest=rest, wait=wait, at=at))


def action(
    group: Group,
    gain: Gain,
    world: int,
    by_turns: str = "",
    *,
    is_one_line: bool = False,
    change: str = "",
    callee: Callee | None = None,
) -> str:
    """Where to change what, or what to change and who waits for whom; `world` counts ranks.

    `by_turns` is the latter, of ranks that take turns. `is_one_line`: of a function that runs
    Python code, samples show a single line. `change` is what to change where more is known than
    the activity, `callee` what is mostly called there.
    """
    first = group.entries[0]
    if first.cause.activity is Activity.LOCK:
        return lock_words.unseen(first)
    if by_turns:
        return f"{by_turns} {OF_PATTERN[_told_pattern(group)][1]}"
    change = change or _of_library(first, callee) or _of_files(first, callee)
    change = of_world(change or change_of(first), world)
    if first.cause.activity is Activity.INTERPRETER:
        change = ONE_LINE if is_one_line else change
        if callee is not None:
            is_search = callee.name in SEARCHES
            change = OF_SEARCH if is_search else IN_LIBRARY.format(callee.name)
            at = _at(first, callee if is_search else None)
            more = _in_calls(group, callee, gain) if gain.is_bound else _with_others(group, gain)
            return f"{there(at, change)}{more}"
    if first.cause.activity is None:
        return f"{there(_at(first, None), change)} {_seen(group, world)}".rstrip()
    return f"{there(_at(first, callee), change)}{_with_others(group, gain)}"


def _at(first: Entry, callee: Callee | None) -> str:
    """`In read() (data.py:22), which calls gzip.open`; "" where no place is known."""
    calls = f", which calls {callee.name}" if callee is not None else ""
    return f"In {places(first)}{calls}" if places(first) else ""


def _of_library(entry: Entry, callee: Callee | None) -> str:
    """What to change about a library's calls; "" of all others.

    Of SciPy's only its sparse matrices prepare data.
    """
    library = callee.name.partition(".")[0] if callee is not None else ""
    if entry.cause.activity is Activity.DATA_PREPARATION and library == "scipy":
        return OF_SPARSE
    return OF_DRAWING if entry.cause.activity is Activity.LOGGING and library in DRAWS else ""


def is_archive(entry: Entry, callee: Callee | None) -> bool:
    """Whether a call reads an archive: what is in it may be compressed or not."""
    is_of_files = entry.cause.activity in (Activity.FILES, Activity.UNPACKING)
    return is_of_files and callee is not None and callee.files_use is FilesUse.ARCHIVE


def _of_files(entry: Entry, callee: Callee | None) -> str:
    """What to change by what is seen of the use of files; "" of anything else."""
    is_told = entry.cause.activity is Activity.FILES or is_archive(entry, callee)
    return OF_FILES.get(callee.files_use, "") if callee and callee.files_use and is_told else ""


def _in_calls(group: Group, callee: Callee, gain: Gain) -> str:
    """What of the calls of a library's function its Python code takes; "" for nearly all of it."""
    own, mean = format_seconds(callee.lost_s), format_seconds(callee.mean_s)
    told = "" if own == mean else f" Of the {mean} that the calls take, {own} is Python code."
    if callee.mean_s >= SAME_FROM * gain.seconds:
        return told
    return f"{told} Python code of all places in evidence takes {format_seconds(_each_s(group))}."


def _here(group: Group) -> tuple[tuple[int, ...], int]:
    """The ranks that spend anything where most of a group is lost, and how long all of them do."""
    first = group.entries[0]
    here = [one for one in group.entries if first.frame is not None and one.frame == first.frame]
    causing = dict.fromkeys(rank for one in here or [first] for rank in one.ranks)
    return tuple(causing), sum(one.own_ns for one in here or [first])


def _seen(group: Group, world: int) -> str:
    """That all ranks wait for each other, and how long, as a sentence; "" where they do not.

    The largest entry of a group tells it: that is where to begin. It is the mean, which compares
    with what the run is shorter by. Who waits for some ranks stands beside these.
    """
    entry, (causing, _) = group.entries[0], _here(group)
    if not entry.ranks or not entry.waiting_ns or len(causing) < world:
        return ""
    where = place(entry.frame) or entry.cause.operation
    at = f" in {where}" if where and not place(entry.frame) else ""
    each = format_seconds(entry.waiting_ns * NS / world)
    return f"The ranks wait {each} each on average for each other{at}."


def _with_others(group: Group, gain: Gain) -> str:
    """What of a group is at its first place, where that is little of it; "" otherwise."""
    first, together_s = group.entries[0], _each_s(group)
    if not first.own_ns or not first.ranks:
        return ""
    causing, here_ns = _here(group)
    told_s = here_ns * NS / len(causing)
    if told_s >= min(together_s, SAME_FROM * gain.seconds):
        return ""
    here, whole = format_seconds(told_s), format_seconds(together_s)
    if here == whole:
        return ""
    return f" {here} of the {whole} is there; the saving is of all places (see evidence)."


def change_of(first: Entry) -> str:
    """What to change."""
    if first.cause.activity is not None:
        return CHANGES[first.cause.activity]
    if first.cause.kind is LossKind.COMMUNICATION:
        makes_windows = BY_NAME[first.cause.operation].makes_windows
        return WINDOWS_ACTION if makes_windows else OF_CALLS[_class_of(first)][1]
    if first.cause.kind is LossKind.TRANSFER or first.pattern is None:
        return TRANSFER_ACTION
    return OF_PATTERN[first.pattern][1]


def summary(entry: Entry) -> str:
    """The largest entry of a group as a sentence: by whom, when, in which pattern; "" unknown."""
    parts = []
    if entry.ranks:
        parts.append(f"by {ranks(entry.ranks)}")
    if entry.steps is not None:
        first, last = entry.steps
        parts.append(f"in step {first}" if first == last else f"in steps {first} to {last}")
    told = [f"caused {' '.join(parts)}"] if parts else []
    if entry.pattern is not None and entry.cause.kind is not LossKind.WAITING:
        told.append(entry.pattern.label)
    return f"{capitalized(': '.join(told))}." if told else ""
