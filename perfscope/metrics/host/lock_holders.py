"""Who is at work while a main thread waits for a lock or a queue: who holds or fills it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.own_places import stacks_inside, usual_place
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import BUILT_IN, is_user_file
from perfscope.attribution.together import period_ns
from perfscope.attribution.waited_for import LOCKS, main_wait
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.input_parts import in_main_threads, of_producers
from perfscope.metrics.host.interpreter_lock import thread_name
from perfscope.metrics.host.worker_use import is_waiting
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.structures import dataclass
from perfscope.trace.counts import count_under
from perfscope.trace.model import Frame, Rank, Table, Trace

RESTS = (Activity.NETWORK, Activity.SUBPROCESS, Activity.WORKERS)
"""What a thread does that may hold a lock meanwhile, or be where it is for all of its life."""

IDLE = (Activity.LOCK, Activity.SLEEP, Activity.COMMUNICATION, Activity.DEVICE_WAIT)
"""What a thread does that keeps nobody waiting; a file may well be written under a lock."""


@dataclass(frozen=True)
class LockHolder:
    """Who was at work while the main thread of a rank waited."""

    waiting_rank: int  # number of the rank that waits
    kind: AwaitedThing  # what it waits for
    rank: int  # number of the one at work; another one where no thread of its own was
    thread: str  # name of its thread; "" unknown, or a main thread
    # the user's function in which it was seen most meanwhile, at the line seen most
    frame: Frame | None
    share: float  # of the samples of the wait, those in which it was seen at work
    waiters: Waiters | None = None
    processes: int = 0  # worker processes of the waiting rank that were at work; 0: no such ones
    is_told: bool = False  # the kernel told that it holds the lock; else it was only seen at work
    # the function that both ranks are in, at the line where the holder goes on; of a thread the
    # outermost function that it leaves when the wait ends
    within: Frame | None = None
    doing: Activity | None = None  # what a thread did there mostly; None unknown
    calling: str = ""  # what of a library it mostly called meanwhile
    computes: bool = False  # a thread mostly computed meanwhile, and waited for nothing itself


@dataclass(frozen=True)
class Waiters:
    """Threads that wait for a lock that another one of their own kind holds."""

    frame: Frame | None  # the user's function in which they wait most; None unknown
    share: float  # of the samples of all of them, those in which they wait
    count: int  # how many they are


def lock_holders(prepared: Prepared) -> tuple[LockHolder, ...]:
    """Of the ranks that were seen to wait, where the same one was at work most of that time.

    The threads of a rank are looked at together, the main one up to a moment before; where files
    are locked, also the other ranks of the host.
    """
    trace, focus = prepared.trace, prepared.focus
    if not trace.has_stacks:
        return ()
    activity = stack_activities(trace).astype(np.int64)
    idle = np.isin(activity, [ACTIVITIES.index(one) for one in IDLE])
    locked = activity == ACTIVITIES.index(Activity.LOCK)
    has_workers = any(len(rank.worker_stacks) for rank in trace.ranks)
    serving = is_waiting(trace, activity) if has_workers else idle
    found = []
    threads = _Threads(trace, activity, locked)
    for rank in trace.ranks:
        rows = focus.within(rank.stacks)
        among = _among_producers(trace, rank, of_producers(rank, rows), locked, ~idle)
        found += [among] if among else []
        is_main = rows["tid"] == rank.main_tid
        waits = rows[is_main & locked[rows["stack"]]]
        if len(waits) < FEWEST_SAMPLES:
            continue
        seen = [
            threads.holder(rank, waits),
            _told(trace, rank, waits, ~idle) or _rank(trace, rank, waits, ~idle),
            _processes(trace, rank, waits, ~serving),
        ]
        likely = [one for one in seen if one is not None and one.share >= MAIN]
        if likely:
            found.append(max(likely, key=lambda one: (one.is_told, one.share)))
    return tuple(found)


@dataclass(frozen=True)
class _Threads:
    """Which thread of its own process a main thread waits for, by what threads do meanwhile."""

    trace: Trace
    activity: Ints  # by stack
    locked: Bools  # by stack: it waits for a lock or a queue itself

    def holder(self, rank: Rank, waits: Table) -> LockHolder | None:
        """The thread that was at work most often while the main thread waited, and then no more.

        Threads are looked at while the main thread waits and once after that, and busy ones always:
        the looks at which none was looked at tell nothing.
        """
        others = rank.stacks[rank.stacks["tid"] != rank.main_tid]
        if not len(others):
            return None
        near = _nearest(np.sort(others["t"].astype(np.int64)), waits["t"].astype(np.int64))
        looked = waits[near >= 0]
        if len(looked) < FEWEST_SAMPLES:
            return None
        tids = np.unique(others["tid"]).tolist()
        found = [self._of_thread(rank, others[others["tid"] == tid], looked) for tid in tids]
        seen = [one for one in found if one is not None]
        return max(seen, key=lambda one: (one.is_told, one.share), default=None)

    def _of_thread(self, rank: Rank, rows: Table, waits: Table) -> LockHolder | None:
        if len(rows) < FEWEST_SAMPLES:
            return None
        trace = self.trace
        _, meanwhile = _at_work(rows, waits, ~self.locked)
        if not len(meanwhile):
            return None
        frame, share = _place(trace, meanwhile), len(meanwhile) / len(waits)
        if frame is None:
            return None  # a library's own thread: nothing tells whether it is there at any time
        kind, tid = _kind(trace, waits), int(rows["tid"][0])
        after = self._after(rank, rows)
        stays = stacks_inside(trace, frame) & ~self.locked
        ends = len(after) >= FEWEST_SAMPLES and float(stays[after["stack"]].mean()) <= MAIN * share
        doing = ACTIVITIES[int(np.bincount(self.activity[meanwhile["stack"]]).argmax())]
        if not ends and (doing in IDLE or (len(after) >= FEWEST_SAMPLES and doing in RESTS)):
            return None  # it may be there at any time
        name = thread_name(rank, tid)
        computes = doing not in (*RESTS, *IDLE, Activity.FILES)
        found = LockHolder(rank.number, kind, rank.number, name, frame, share, computes=computes)
        if not ends or kind is not AwaitedThing.LOCK or share < ALONE:
            return found
        within, calling = self._left(meanwhile, after), self._called(meanwhile)
        return replace(found, is_told=True, within=within, doing=doing, calling=calling)

    def _after(self, rank: Rank, rows: Table) -> Table:
        """The samples of a thread at moments at which the main thread did not wait for a lock."""
        main = rank.main_stacks
        near = _nearest(main["t"].astype(np.int64), rows["t"].astype(np.int64))
        after: Table = rows[(near >= 0) & ~self.locked[main["stack"][near]]]
        return after

    def _left(self, meanwhile: Table, after: Table) -> Frame | None:
        """The outermost of the user's functions that it leaves, at the line where it goes on."""
        trace = self.trace
        stays: Counter[object] = Counter()
        for stack in after["stack"].tolist():
            stays.update({trace.frames[place].key for place in trace.stacks[stack]})
        found: Counter[Frame] = Counter()
        for stack in meanwhile["stack"].tolist():
            frames = (trace.frames[place] for place in trace.stacks[stack])
            own = (one for one in frames if is_user_file(one.file))
            left = (one for one in own if stays[one.key] <= MAIN * len(after))
            found.update(list(islice(left, 1)))
        return found.most_common(1)[0][0] if found else None

    def _called(self, meanwhile: Table) -> str:
        """The function of a library that the user's innermost function called most; "" none."""
        trace = self.trace
        found: Counter[str] = Counter()
        for stack in meanwhile["stack"].tolist():
            frames = [trace.frames[place] for place in trace.stacks[stack]]
            own = max((at for at, one in enumerate(frames) if is_user_file(one.file)), default=-1)
            found.update(one.function for one in frames[own + 1 : own + 2])
        name, most = max(found.items(), key=lambda one: (one[1], one[0]), default=("", 0))
        return name if most > MAIN * len(meanwhile) else ""


def _among_producers(
    trace: Trace, rank: Rank, rows: Table, locked: Bools, works: Bools
) -> LockHolder | None:
    """The threads that fill the input queue of a rank, where one works while others wait for it.

    One that sleeps or waits for something else in the function in which others wait holds it, too.
    """
    tid_of: Ints = rows["tid"]
    stack_of: Ints = rows["stack"]
    tids = np.unique(tid_of).tolist()
    is_waiting = locked[stack_of]
    if not is_waiting.any():
        return None
    waits, held = [], []
    apart = period_ns(np.sort(rows["t"][tid_of == tids[0]].astype(np.int64)))
    holds = works | (stacks_inside(trace, _place(trace, rows[is_waiting])) & ~locked)
    for tid in tids:
        mine = rows[(tid_of == tid) & is_waiting]
        others = np.sort(rows[(tid_of != tid) & holds[stack_of]], order="t")
        if not len(mine) or _kind(trace, mine) not in LOCKS:
            continue
        waits.append(mine)
        if len(others):
            moments: Ints = mine["t"].astype(np.int64)
            near = _nearest(others["t"].astype(np.int64), moments, apart)
            held.append(others[near[near >= 0]])
    if sum(map(len, waits)) < FEWEST_SAMPLES or not held:
        return None
    mine, seen = np.concatenate(waits), np.concatenate(held)
    waiters = Waiters(_place(trace, mine), len(mine) / len(rows), len(tids))
    share = len(seen) / len(mine)
    if share < MAIN or waiters.share < MAIN * (1 - 1 / len(tids)):
        return None
    kind, frame = _kind(trace, mine), _place(trace, seen)
    return LockHolder(rank.number, kind, rank.number, "", frame, share, waiters)


def _rank(trace: Trace, rank: Rank, waits: Table, works: Bools) -> LockHolder | None:
    """The rank of the host that was at work in the same function while the main thread waited.

    Only a lock on a file is one that ranks share: others are in the memory of a process.
    """
    where = _place(trace, waits)
    if where is None or _kind(trace, waits) is not AwaitedThing.FILE_LOCK:
        return None
    inside = stacks_inside(trace, where)
    found = []
    for other in trace.ranks:
        if other is rank or other.host != rank.host:
            continue
        rows = other.main_stacks
        if not len(rows):
            continue
        frame, share = _seen(trace, rows, waits, works & inside)
        found.append(
            LockHolder(rank.number, AwaitedThing.FILE_LOCK, other.number, "", frame, share)
        )
    return max(found, key=lambda one: one.share, default=None)


def _told(trace: Trace, rank: Rank, waits: Table, works: Bools) -> LockHolder | None:
    """The rank of the host that the kernel told to hold the file's lock, in most looks at it.

    The others that it told are seen at work as well: of many ranks each holds it for a while.
    """
    looks, times = _times_held(rank)
    if not looks or _kind(trace, waits) is not AwaitedThing.FILE_LOCK:
        return None
    others = [one for one in trace.ranks if one is not rank and one.host == rank.host]
    held = {other.number: times.get(other.pid, 0) for other in others}
    if not any(held.values()) or sum(held.values()) <= MAIN * looks:
        return None
    at_work, seen = np.zeros(len(waits), bool), []
    for other in others:
        rows = other.main_stacks
        if not held[other.number] or not len(rows):
            continue
        busy, meanwhile = _at_work(rows, waits, works)
        at_work |= busy
        seen.append(meanwhile)
    if not seen:
        return None
    rows = np.concatenate(seen)
    most = max(held, key=lambda number: held[number])
    kind, share = AwaitedThing.FILE_LOCK, float(at_work.mean())
    place, within = _place(trace, rows), _shared_place(trace, rows, waits)
    return LockHolder(rank.number, kind, most, "", place, share, is_told=True, within=within)


def _times_held(rank: Rank) -> tuple[int, Mapping[int, int]]:
    """Looks at the lock on a file that a rank waited for, and in how many which process held it."""
    told = rank.metadata.get("file_locks")
    rows = told.get("held_by") if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(rows, list):
        return 0, {}
    pairs = [row for row in rows if isinstance(row, list) and len(row) == len(("pid", "looks"))]
    whole = (row for row in pairs if all(type(one) is int and one > 0 for one in row))
    plain: list[tuple[int, int]] = [(row[0], row[1]) for row in whole]
    return count_under(told, "looks"), dict(plain)


def _shared_place(trace: Trace, rows: Table, waits: Table) -> Frame | None:
    """The innermost of the user's functions that both are in, at the holder's usual line."""
    frames = trace.frames
    of_waiter = {
        frames[place].key
        for stack in np.unique(waits["stack"]).tolist()
        for place in trace.stacks[stack]
        if is_user_file(frames[place].file)
    }
    found: Counter[int] = Counter()
    for stack in rows["stack"].tolist():
        shared = (one for one in reversed(trace.stacks[stack]) if frames[one].key in of_waiter)
        found.update(list(islice(shared, 1)))
    return frames[found.most_common(1)[0][0]] if found else None


def _processes(trace: Trace, rank: Rank, waits: Table, works: Bools) -> LockHolder | None:
    """The processes that work for a rank, where most of its wait was for what they do.

    They hold no lock of its memory: they fill a queue, or finish what it has them do.
    """
    kind = _kind(trace, waits)
    is_in_memory = kind is AwaitedThing.LOCK and _is_of_threads(trace, waits)
    if kind is AwaitedThing.FILE_LOCK or is_in_memory or not len(rank.worker_stacks):
        return None
    main = in_main_threads(rank.worker_stacks)
    if not len(main):
        return None
    at_work = np.zeros(len(waits), bool)
    seen, processes = [], 0
    for pid in np.unique(main["pid"]).tolist():
        rows = main[main["pid"] == pid]
        busy, meanwhile = _at_work(rows, waits, works)
        at_work |= busy
        seen.append(meanwhile)
        processes += bool(busy.any())
    frame, share = _place(trace, np.concatenate(seen)), float(at_work.mean())
    return LockHolder(rank.number, kind, rank.number, "", frame, share, None, processes)


def _is_of_threads(trace: Trace, waits: Table) -> bool:
    """Whether most of a wait is for a lock in the memory of a process, as only its threads hold."""
    names = ("_thread.", "threading.")
    of_stack = [
        any(
            trace.frames[place].file == BUILT_IN and trace.frames[place].function.startswith(names)
            for place in trace.stacks[stack]
        )
        for stack in waits["stack"].tolist()
    ]
    return sum(of_stack) > MAIN * len(of_stack)


def _seen(trace: Trace, rows: Table, waits: Table, works: Bools) -> tuple[Frame | None, float]:
    """Where a thread was at work meanwhile, and in which share of the samples of the wait."""
    _, meanwhile = _at_work(rows, waits, works)
    return _place(trace, meanwhile), len(meanwhile) / len(waits)


def _at_work(rows: Table, waits: Table, works: Bools) -> tuple[Bools, Table]:
    """In which samples of the wait a thread was at work, and its own samples of then."""
    near = _nearest(rows["t"].astype(np.int64), waits["t"].astype(np.int64))
    busy: Bools = (near >= 0) & works[rows["stack"][near]]
    meanwhile: Table = rows[near[busy]]
    return busy, meanwhile


def _nearest(times: Ints, moments: Ints, apart_ns: int | None = None) -> Ints:
    """The sample next to each moment; -1 where none is as near as samples are apart.

    That is `apart_ns` where `times` are only some of a thread's samples.
    """
    reach_ns = period_ns(times) if apart_ns is None else apart_ns
    after = np.minimum(np.searchsorted(times, moments), len(times) - 1)
    before = np.maximum(after - 1, 0)
    is_before = np.abs(times[before] - moments) <= np.abs(times[after] - moments)
    near = np.where(is_before, before, after)
    return np.where(np.abs(times[near] - moments) <= reach_ns, near, -1)


def _place(trace: Trace, rows: Table) -> Frame | None:
    return usual_place([trace.stacks[one] for one in rows["stack"].tolist()], trace.frames)


def _kind(trace: Trace, waits: Table) -> AwaitedThing:
    """What most of the samples wait for."""
    return main_wait(Counter(waits["stack"].tolist()), trace)
