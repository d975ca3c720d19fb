"""Time in which the main thread of a rank could run and had no CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from perfscope.arrays import Bools, Floats, counter_growth
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.judging import NEGLIGIBLE
from perfscope.metrics.communication.unhindered import unhindered_work_s
from perfscope.metrics.host.cpu_takers import cpu_takers, looks_at_threads
from perfscope.schema.enums import Account
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table
from perfscope.units import NS


@dataclass(frozen=True)
class CpuWait:
    """How long the main thread of one rank waited for a CPU in the focus of analysis.

    While a rank waits for another one it loses nothing by waiting for a CPU as well. What it loses
    is counted by what it was in: between calls (`in_work_s`) or while data moved (`in_transfer_s`).
    """

    rank: int
    in_work_s: float
    work_s: float
    in_transfer_s: float
    transfer_s: float
    throttled_s: float = 0.0  # in which the CPU limit of its control group withheld CPUs
    others_share: float = 0.0
    """Of all of it, at the expense of processes that are not the job's; see `CpuTakers`."""
    others_cpus: float | None = None
    """CPUs that these used on average; None: not measured, and the share is the least."""
    cpus: int = 0  # that the rank may use
    in_pool_s: float = 0.0
    """Of the work, in which the main thread slept while threads of its process had no CPU."""
    pool_share: float = 0.0  # of that, at the expense of processes that are not the job's
    counted: float = 1.0
    """Of the waiting in work that is dealt out by time, the part that can have been waiting."""

    @property
    def in_work_share(self) -> float:
        """Of the time between calls, the part that was waiting; 0 where there is none."""
        return self.in_work_s / self.work_s if self.work_s > 0 else 0.0

    @property
    def lost_s(self) -> float:
        """Both together."""
        return self.in_work_s + self.in_transfer_s

    def part(self, *, is_of_others: bool) -> CpuWait:
        """What of it other processes cost, or else what threads of the job may have.

        Threads of a pool that have no CPU hold up who waits for them. What they take from each
        other is a matter of their number, and no waiting of the main thread.
        """
        share = self.others_share if is_of_others else 1.0 - self.others_share
        in_work_s, in_transfer_s = share * self.in_work_s, share * self.in_transfer_s
        in_work_s += self.pool_share * self.in_pool_s if is_of_others else 0.0
        return replace(self, in_work_s=in_work_s, in_transfer_s=in_transfer_s)


def cpu_waits(prepared: Prepared) -> tuple[CpuWait, ...]:
    """Of every rank whose main thread was sampled."""
    ranks, focus = prepared.trace.ranks, prepared.focus
    found = (
        _of_rank(rank, ranks, timeline, focus, partial(unhindered_work_s, prepared.waits, focus, n))
        for n, (rank, timeline) in enumerate(zip(ranks, prepared.timelines, strict=False))
    )
    return tuple(one for one in found if one is not None)


def others_share_in(
    account: Account, waits: CpuWait, rank: Rank, timeline: Timeline, focus: Focus
) -> float:
    """Of a rank's time in an account, the part that processes outside the job held it up for.

    Args:
        account: of work.
        waits: what is known of the rank's waiting in all of its work.
        rank: that waits.
        timeline: of the rank.
        focus: in which.
    """
    rows = _samples(rank)
    chosen = timeline.inside(focus) & (timeline.accounts == INDEX[account])
    if len(rows) < 2 or not chosen.any():
        return 0.0
    waited_ns, spent_ns = _during(rows, timeline, chosen)
    pool_s = _in_pool_s(rank, timeline, chosen)
    lost_s = waits.others_share * waits.counted * waited_ns * NS + waits.pool_share * pool_s
    return min(lost_s / (spent_ns * NS), 1.0) if spent_ns > 0 else 0.0


def _samples(rank: Rank) -> Table:
    """Samples of the main thread, else of a process that has no other one."""
    if len(rank.main_samples):
        return rank.main_samples
    rows = rank.process_samples
    is_alone = len(rows) and int(rows["threads"].max()) <= 1
    return rows if is_alone else rows[:0]


def _of_rank(
    rank: Rank, ranks: Sequence[Rank], timeline: Timeline, focus: Focus, done: Callable[[], float]
) -> CpuWait | None:
    """That of one rank; `done` tells how many seconds of work at least it did while it had a CPU.

    Where stretches of work are longer than the turns that a CPU is given in, even the fastest ones
    hold waiting: a rank worked for no longer than it ran.
    """
    rows = _samples(rank)
    if len(rows) < 2:
        return None
    inside = timeline.inside(focus)
    transfer = inside & (timeline.accounts == INDEX[Account.COMMUNICATION_TRANSFER])
    dealt, work_ns = _during(rows, timeline, timeline.work(focus))
    in_transfer, transfer_ns = _during(rows, timeline, transfer)
    takers = cpu_takers(rank, ranks, focus)
    ran = counter_growth((focus.start_ns, focus.end_ns), rows["t"], rows["cpu_ns"])[0]
    in_work = dealt
    if dealt > NEGLIGIBLE * work_ns:  # else nobody asks how much of it is work
        in_work = max(0.0, min(dealt, work_ns - min(done() / NS, float(ran))))
    pool_s = _in_pool_s(rank, timeline, timeline.work(focus))
    return CpuWait(
        rank=rank.number,
        in_work_s=in_work / 1e9,
        work_s=work_ns / 1e9,
        in_transfer_s=in_transfer / 1e9,
        transfer_s=transfer_ns / 1e9,
        throttled_s=_throttled_s(rank, focus),
        others_share=takers.share,
        others_cpus=takers.busy_cpus,
        cpus=takers.cpus,
        in_pool_s=min(pool_s, max(work_ns - in_work, 0.0) / 1e9),
        pool_share=takers.pool_share,
        counted=in_work / dealt if dealt > 0 else 1.0,
    )


def _in_pool_s(rank: Rank, timeline: Timeline, chosen: Bools) -> float:
    """Chosen work in which the main thread sleeps, by the share in which its pool lacks a CPU.

    As long as one of them wants one: where none does, the main thread waits for something else. All
    threads are looked at more rarely than the main one, so that it goes by when they were.
    """
    main, looked = rank.main_samples, looks_at_threads(rank)
    if len(main) < 2 or len(looked) < 2:
        return 0.0
    edges = looked["t"].astype(np.float64)
    length = np.diff(edges)
    inside = counter_growth(edges, timeline.boundaries, timeline.before(chosen))
    part = np.divide(inside, length, out=np.zeros(len(length)), where=length > 0)
    ran = counter_growth(edges, main["t"], main["cpu_ns"])
    waited = counter_growth(edges, main["t"], main["queue_delay_ns"])
    asleep = np.maximum(length - ran - waited, 0.0)
    lacking = np.maximum(np.diff(looked["queue_delay_ns"]) - waited, 0.0)
    wanted = lacking + np.maximum(np.diff(looked["cpu_ns"]) - ran, 0.0)
    lacked = np.divide(lacking, wanted, out=np.zeros(len(wanted)), where=wanted > 0)
    return float((part * np.minimum(asleep, wanted) * lacked).sum()) / 1e9


def _throttled_s(rank: Rank, focus: Focus) -> float:
    rows = rank.main_samples
    rows = rows[rows["throttled_ns"] >= 0]
    if len(rows) < 2:
        return 0.0
    first, last = np.interp([focus.start_ns, focus.end_ns], rows["t"], rows["throttled_ns"])
    return float(max(0.0, last - first)) / 1e9


def _during(rows: Table, timeline: Timeline, chosen: Bools) -> tuple[float, float]:
    """Waiting for a CPU in chosen stretches of a timeline, and how long these are."""
    _, waited = between_samples(rows, timeline, chosen)
    return float(waited.sum()), float(timeline.before(chosen)[-1])


def between_samples(rows: Table, timeline: Timeline, chosen: Bools) -> tuple[Floats, Floats]:
    """Time in chosen stretches of a timeline, and of it the waiting for a CPU, in nanoseconds.

    What was waited between two samples is dealt out by the time that each stretch has of it.

    Args:
        rows: samples of the thread, shape (samples,).
        timeline: of its rank.
        chosen: by segment, whether it is meant.

    Returns:
        Both between samples, shape (samples - 1,).
    """
    times = rows["t"].astype(np.float64)
    inside, length = (
        counter_growth(times, timeline.boundaries, timeline.before(chosen)),
        np.diff(times),
    )
    share = np.divide(inside, length, out=np.zeros(len(length)), where=length > 0)
    return inside, np.minimum(np.diff(rows["queue_delay_ns"]) * share, inside)
