"""Who is at work while a main thread waits for a lock or a queue: who holds or fills it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.sampled import period_ns
from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.attribution.usual_place import usual_place
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.interpreter_lock import thread_name
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table, Trace

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

QUEUE_MODULES = frozenset({"queue", "_queue", "multiprocessing.queues"})
"""Of the standard library: what waits in them waits for somebody to bring something."""

FILE_LOCKS = ("fcntl", "flock", "os.lockf")
"""System calls that lock files, and the functions that make them."""


IDLE = (Activity.LOCK, Activity.SLEEP, Activity.COMMUNICATION, Activity.DEVICE_WAIT)
"""What a thread does that keeps nobody waiting; a file may well be written under a lock."""


@dataclass(frozen=True)
class LockHolder:
    """Who was at work while the main thread of a rank waited.

    Attributes:
        waiting_rank: number of the rank that waits.
        kind: what it waits for.
        rank: number of the one at work; another one where no thread of its own was.
        thread: name of its thread; "" unknown, or a main thread.
        frame: the user's function in which it was seen most meanwhile, at the line seen most.
        share: of the samples of the wait, those in which it was seen at work.
    """

    waiting_rank: int
    kind: AwaitedThing
    rank: int
    thread: str
    frame: Frame | None
    share: float


def lock_holders(prepared: Prepared) -> tuple[LockHolder, ...]:
    """Of the ranks that were seen to wait, where the same one was at work most of that time.

    The threads of a rank are looked at together, the main one up to a moment before. Where none
    of them was at work, it may be another rank of the host: files are locked among them.
    """
    trace, focus = prepared.trace, prepared.focus
    if not any(len(rank.stacks) for rank in trace.ranks):
        return ()
    activity = stack_activities(trace)
    idle = np.isin(activity, [ACTIVITIES.index(one) for one in IDLE])
    locked = activity == ACTIVITIES.index(Activity.LOCK)
    found = []
    for rank in trace.ranks:
        rows = rank.stacks[(rank.stacks["t"] >= focus.start_ns) & (rank.stacks["t"] < focus.end_ns)]
        is_main = rows["tid"] == rank.main_tid
        waits = rows[is_main & locked[rows["stack"]]]
        if len(waits) < FEWEST_SAMPLES:
            continue
        holder = _thread(trace, rank, waits, ~idle) or _rank(trace, rank, waits, ~idle)
        if holder is not None and holder.share >= MAIN:
            found.append(holder)
    return tuple(found)


def _thread(trace: Trace, rank: Rank, waits: Table, works: Bools) -> LockHolder | None:
    """The thread of a rank that was at work most often while the main thread waited."""
    found = []
    for tid in np.unique(rank.stacks["tid"]).tolist():
        rows = rank.stacks[rank.stacks["tid"] == tid]
        if tid == rank.main_tid or len(rows) < FEWEST_SAMPLES:
            continue
        near = _nearest(rows["t"].astype(np.int64), waits["t"].astype(np.int64))
        seen = near[(near >= 0) & works[rows["stack"][near]]]
        frame, share = _place(trace, rows[seen]), len(seen) / len(waits)
        name = thread_name(rank, tid)
        kind = _kind(trace, waits)
        found.append(LockHolder(rank.number, kind, rank.number, name, frame, share))
    return max((one for one in found if one.share), key=lambda one: one.share, default=None)


def _rank(trace: Trace, rank: Rank, waits: Table, works: Bools) -> LockHolder | None:
    """The rank of the host that was at work while the main thread waited.

    Unless it waits for a file, which may be locked anywhere, it is one in the same function.
    """
    kind = _kind(trace, waits)
    where = _place(trace, waits)
    if where is None:
        return None
    same = (where.function, where.file)
    named = [(one.function, one.file) == same for one in trace.frames]
    inside = np.array([any(named[frame] for frame in stack) for stack in trace.stacks])
    works = works if kind is AwaitedThing.FILE_LOCK else works & inside
    found = []
    for other in trace.ranks:
        if other is rank or other.host != rank.host:
            continue
        rows = other.stacks[other.stacks["tid"] == other.main_tid]
        if not len(rows):
            continue
        near = _nearest(rows["t"].astype(np.int64), waits["t"].astype(np.int64))
        seen = near[(near >= 0) & works[rows["stack"][near]]]
        share = len(seen) / len(waits)
        frame = _place(trace, rows[seen])
        found.append(LockHolder(rank.number, kind, other.number, "", frame, share))
    return max(found, key=lambda one: one.share, default=None)


def _nearest(times: Ints, moments: Ints) -> Ints:
    """The sample next to each moment; -1 where none is as near as samples are apart."""
    after = np.minimum(np.searchsorted(times, moments), len(times) - 1)
    before = np.maximum(after - 1, 0)
    is_before = np.abs(times[before] - moments) <= np.abs(times[after] - moments)
    near = np.where(is_before, before, after)
    return np.where(np.abs(times[near] - moments) <= period_ns(times), near, -1)


def _place(trace: Trace, rows: Table) -> Frame | None:
    return usual_place([trace.stacks[one] for one in rows["stack"].tolist()], trace.frames)


def _kind(trace: Trace, waits: Table) -> AwaitedThing:
    """What is waited for, by the library that waits and the system call in which it does."""
    stacks = [trace.stacks[one] for one in waits["stack"].tolist()]

    def is_most(told: list[bool]) -> bool:
        return sum(any(told[frame] for frame in stack) for stack in stacks) > MAIN * len(stacks)

    if is_most([module_of(one.file) in QUEUE_MODULES for one in trace.frames]):
        return AwaitedThing.QUEUE
    is_code = [one.file in (BUILT_IN, SYSTEM_CALL) for one in trace.frames]
    of_files = [one.function.startswith(FILE_LOCKS) for one in trace.frames]
    is_file = is_most([code and of for code, of in zip(is_code, of_files, strict=True)])
    return AwaitedThing.FILE_LOCK if is_file else AwaitedThing.LOCK
