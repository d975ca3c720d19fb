"""Training work that takes longer than it need, by what holds it up, or is more than needed."""

from collections.abc import Iterator

from perfscope.arrays import Ints
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MOST_LOST
from perfscope.losses.cause import LossCause
from perfscope.losses.needless import needless_s
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import HELD_UP

Seconds = tuple[tuple[LossCause, float], ...]
"""By what a rank was held up, in the order of `HELD_UP`, and what was needless."""


def held_up_s(results: Results) -> list[Seconds]:
    """Of all work between calls of each rank; 0 where it was not measured."""
    length_s = max(results.focus.length_ns * 1e-9, 1e-9)
    queued = {one.rank: _without_cpu_s(one, length_s) for one in results.resources.cpu_waits}
    locked = {one.rank: one.waited_s for one in results.lock_waits}
    faults = {one.rank: one.fault_s for one in results.fault_times if one.least_s > 0}
    needless = needless_s(results)
    found = []
    for rank in results.trace.ranks:
        seconds = (
            *queued.get(rank.number, (0.0, 0.0, 0.0)),
            _slowed_s(results, rank.number),
            locked.get(rank.number, 0.0),
            faults.get(rank.number, 0.0),
        )
        held = tuple(zip(map(LossCause, HELD_UP), seconds, strict=True))
        found.append((*held, *needless[rank.number].items()))
    return found


def _slowed_s(results: Results, rank: int) -> float:
    """What a rank's GPUs worked longer for heat or power; of several, which work at a time, one."""
    return max((use.slowed_s for use in results.gpus.used if rank in use.ranks), default=0.0)


def _without_cpu_s(waits: CpuWait, length_s: float) -> tuple[float, float, float]:
    """What of the waiting for CPUs in work a limit withheld, other processes and threads took.

    A limit withholds CPUs from work as long as its part of the time is: when, is not recorded.
    """
    limited_s = min(waits.throttled_s * min(1.0, waits.work_s / length_s), waits.in_work_s)
    left_s = waits.in_work_s - limited_s
    others_s = min(waits.others_share * waits.in_work_s, left_s)
    return limited_s, others_s + waits.pool_share * waits.in_pool_s, left_s - others_s


def held_up(
    results: Results, position: int, training_ns: int, found: Seconds
) -> Iterator[tuple[LossCause, int]]:
    """Nanoseconds of a rank's training work in which it was held up, by what.

    They exclude each other: without a CPU a thread runs nothing, a thread that waits for the
    lock wants no CPU, one that has a page fault runs in the kernel, and for a GPU its host waits.
    They are known of all work between calls; training work has its part of them. Of what is
    needless no more counts than is left.

    `found` is what the rank was held up by in all of its work, see `held_up_s`.
    """
    work_ns = _work_ns(results, position)
    part = training_ns / work_ns if work_ns else 0.0
    left = training_ns
    for cause, seconds in found:
        ns = min(round(seconds * 1e9 * part), left)
        left -= ns
        yield cause, ns


def _work_ns(results: Results, position: int) -> int:
    timeline: Timeline = results.timelines[position]
    return int(timeline.spent(results.focus)[0][~IS_COMMUNICATION].sum())


def without(results: Results, own: Ints, kind: LossKind) -> tuple[Edit, ...]:
    """The work of each rank shorter by what it was held up by one kind, shape (ranks,)."""
    found = []
    for position, ns in enumerate(own.tolist()):
        work_ns = _work_ns(results, position)
        if ns > 0 and work_ns > 0:
            number = results.trace.ranks[position].number
            left, is_cpu_time = 1.0 - min(ns / work_ns, MOST_LOST), kind is LossKind.PAGE_FAULTS
            found.append(Edit(ranks=(number,), factor=left, is_cpu_time=is_cpu_time))
    return tuple(found)
