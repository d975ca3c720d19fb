"""What is left of a wait for work that a rank handed to a thread of its own: it must be done."""

from dataclasses import replace

from perfscope.arrays import Ints
from perfscope.losses.cause import LossCause
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.trace.host_cpus import cpu_shares

GIVEN = (AwaitedThing.TASK, AwaitedThing.THREAD, AwaitedThing.QUEUE)
"""What is waited for because a thread's work is needed, and not because it is in the way."""


def begun_earlier(results: Results, own: Ints, cause: LossCause) -> tuple[Edit, ...]:
    """Edits that leave of a wait what all CPUs of the rank together need for what is awaited.

    Awaited work of W seconds can be done beside the other M seconds of the rank, and by several
    threads: on c CPUs both end after max(M, (W + M) / c) at the earliest, and no sooner at all on
    one CPU. Empty where no thread of a rank was seen to compute what it waits for, or its CPUs are
    not known.

    Args:
        results: the run.
        own: how long each rank waits, in ns, shape (ranks,).
        cause: that wait.
    """
    if cause.activity is not Activity.LOCK:
        return ()
    waiting = {one.waiting_rank for one in results.lock_holders if _is_own_work(one)}
    shares = cpu_shares(results.trace.ranks) if waiting else {}
    ranks = zip(results.trace.ranks, own.tolist(), strict=True)
    waits = {rank.number: waited_ns for rank, waited_ns in ranks if waited_ns > 0}
    left = {}
    for number, waited_ns in waits.items():
        if number in waiting and number in shares:
            other_ns = max(0, results.focus.length_ns - waited_ns)
            needed_ns = max(0.0, (waited_ns + other_ns) / shares[number] - other_ns)
            left[number] = min(1.0, needed_ns / waited_ns)
    if not left:
        return ()
    work = Edit(
        account=cause.account,
        phase=cause.phase or None,
        function=cause.function,
        activity=cause.activity,
    )
    return tuple(replace(work, ranks=(number,), factor=left.get(number, 0.0)) for number in waits)


def _is_own_work(found: LockHolder) -> bool:
    """Whether a thread of the rank that waits computes what it waits for."""
    return found.rank == found.waiting_rank and found.computes and found.kind in GIVEN
