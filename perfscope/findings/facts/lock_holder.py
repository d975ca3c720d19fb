"""Who holds or fills what ranks wait for in a lock or a queue, in typed form and in words."""

from collections.abc import Collection

from perfscope.findings.core.finding import Evidence, place_of
from perfscope.findings.core.wording import place
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.schema.findings import Holder
from perfscope.trace.model import Frame
from perfscope.units import capitalized, counted, format_share

DOES = {
    Activity.NETWORK: "waits for the network",
    Activity.SLEEP: "sleeps",
    Activity.FILES: "reads or writes files",
    Activity.SUBPROCESS: "waits for another process",
    Activity.WORKERS: "waits for worker processes",
    Activity.COMMUNICATION: "communicates",
    Activity.DEVICE_WAIT: "waits for a device",
    Activity.SERIALIZATION: "serializes objects",
    Activity.LOGGING: "writes output",
}
"""What a thread does while others wait for it."""


HELD = (AwaitedThing.LOCK, AwaitedThing.FILE_LOCK)
"""What somebody holds, while others only wait to be given something."""


def holder_for(results: Results, ranks: Collection[int]) -> LockHolder | None:
    """Of what these ranks wait for, the one that was seen in most of the wait; None unknown."""
    found = [o for o in results.lock_holders if o.waiting_rank in ranks and o.waiters is None]
    return max(found, key=lambda one: (one.is_told, one.share), default=None)


def among_producers(results: Results, rank: int) -> LockHolder | None:
    """The thread that fills the input queue of a rank while others of its kind wait for it."""
    found = (one for one in results.lock_holders if one.waiting_rank == rank and one.waiters)
    return next(found, None)


def typed(found: LockHolder | None) -> Holder | None:
    """As documents hold it."""
    if found is None:
        return None
    where = place_of(found.frame) if found.frame else None
    return Holder(found.kind, found.rank, found.thread or None, where, found.share)


def takes_turns(found: LockHolder, ranks: Collection[int]) -> bool:
    """Whether who holds a lock while one of these ranks waits waits for it at other times."""
    return found.rank != found.waiting_rank and found.rank in ranks


def held_in(found: LockHolder, ranks: Collection[int]) -> str:
    """Where the lock or queue is held that these ranks wait for, for a title; "" unknown."""
    line = next(iter(frames(found)), None)
    if line is None or found.waiters is not None or found.kind not in HELD:
        return ""
    by = ""
    if found.rank != found.waiting_rank and not takes_turns(found, ranks):
        by = f" by rank {found.rank}"
    return f", held{by} in {place(line)}"


def frames(found: LockHolder | None) -> tuple[Frame, ...]:
    """Where it works: that is the line to change, and not where ranks wait for it."""
    if found is None:
        return ()
    first = found.within if found.doing is not None else None
    return tuple(dict.fromkeys(one for one in (first, found.frame) if one is not None))


def who(found: LockHolder, ranks: Collection[int] = ()) -> str:
    """Which thread or rank it is; of `ranks` that wait by turns none in particular."""
    if found.rank != found.waiting_rank:
        if takes_turns(found, ranks):
            return "the other rank" if len(set(ranks)) == len("ab") else "another rank"
        return f"rank {found.rank}"
    if found.processes:
        them = counted(found.processes, "worker process", "worker processes")
        return f"{them} of rank {found.rank}"
    if found.waiters is not None:
        return f"one of {found.waiters.count} threads that make batches on rank {found.rank}"
    return f"{found.thread or 'another thread'} on rank {found.rank}"


def evidence(found: LockHolder, ranks: Collection[int] = ()) -> Evidence:
    """In how much of the wait it was seen at work, and where."""
    where = place(found.frame)
    inside = f" in {where}" if where else ""
    how = (
        "Seen meanwhile, and no more after it"
        if found.doing is not None
        else "Seen at work meanwhile"
    )
    label = f"{how}: {who(found, ranks)}{inside}"
    return Evidence(label, f"{format_share(found.share)} of the samples of the wait")


def is_inferred(found: LockHolder) -> bool:
    """Whether it was only seen at work meanwhile: that it holds the lock is not measured."""
    is_lock = found.kind in HELD
    is_seen = found.doing is not None or not found.is_told
    return is_lock and found.waiters is None and is_seen


def _held_by_thread(found: LockHolder, waiter: str) -> str:
    """What a thread does that probably holds a lock, as it leaves a function when the wait ends."""
    where, within = place(found.frame), place(found.within)
    does = DOES.get(found.doing, "works") if found.doing else "works"
    called = f" in {found.calling}()" if found.calling else ""
    through = f", called in {where}" if within and where and within != where else ""
    thread = f"thread {found.thread}" if found.thread else "another thread"
    return (
        f"Move what {thread} of the same process does in {within or where} out of the lock: copy "
        f"what it needs under the lock, release the lock, and then do it. There it {does}{called}"
        f"{through} while {waiter or 'the main thread'} waits for the lock, and leaves it as the "
        "wait ends: that thread probably holds the lock."
    )


def _held_by_rank(found: LockHolder, waiter: str, ranks: Collection[int]) -> str:
    """What a rank does while it holds the lock on a file, as the kernel told it."""
    where, within = place(found.frame), place(found.within)
    inside = f" in {where}" if where else ""
    begun = f", called in {within}" if within and within != where else ""
    by_turns = takes_turns(found, ranks)
    one = "one rank" if by_turns else f"rank {found.waiting_rank}"
    waits = f"{one} waits for the lock on the file{f' in {waiter}' if waiter else ''}"
    return (
        f"Move what is done{inside} out of the lock, and hold the lock only for the actual read or "
        f"write: while {waits}, {who(found, ranks)} holds it there{begun}."
    )


def action(found: LockHolder, waits_in: Frame | None = None, ranks: Collection[int] = ()) -> str:
    """What to shorten, and where; `waits_in` is where `ranks` wait for the lock, None unknown."""
    where = place(found.frame)
    inside = f" in {where}" if where else ""
    if found.kind is AwaitedThing.QUEUE:
        return (
            f"Make what {who(found)} does{inside} faster, or let several threads or processes fill "
            "the queue, as far as CPUs are free for them."
        )
    if found.waiters is not None:
        at = place(found.waiters.frame)
        return (
            f"Move {where or 'its work'} out of the lock; hold the lock only while touching shared "
            f"data. The {found.waiters.count} batch threads on rank {found.rank} take turns: one "
            f"works while the others wait{f' in {at}' if at else ''}, in "
            f"{format_share(found.waiters.share)} of their samples. Adding threads will not help."
        )
    if found.doing is not None:
        return _held_by_thread(found, place(waits_in))
    one, are = who(found, ranks), "are" if found.processes > 1 else "is"
    if found.is_told:
        return _held_by_rank(found, place(waits_in), ranks)
    if is_inferred(found):
        waiter = place(waits_in)
        waits = f"{waiter} waits" if waiter else "others wait"
        is_thread = found.rank == found.waiting_rank and not found.processes
        if is_thread:  # each rank has its own: the finding names the ranks
            one = f"{found.thread or 'another thread'} of the same process"
        return (
            f"Move the work{inside or f' of {one}'} out of the lock, and hold the lock only while "
            f"touching shared data: while {waits} for the lock, {one} {are} "
            f"{'there' if inside else 'at work'}, and may hold it."
        )
    change = f"share the work{inside} among more threads or processes"
    if found.kind is AwaitedThing.TASK:
        change = f"hand out all tasks before waiting for the first result, or {change}"
    return (
        f"{capitalized(change)}: while {found.kind.label} is waited for, {one} {are} "
        f"{'there' if inside else 'at work'}."
    )
