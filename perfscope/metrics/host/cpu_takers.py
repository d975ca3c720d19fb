"""Who had the CPUs for which the main thread of a rank waited: the job's threads, or others."""

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Floats, counter_growth
from perfscope.attribution.focus import Focus
from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.host_cpus import may_share
from perfscope.trace.model import Rank, Table


@dataclass(frozen=True)
class CpuTakers:
    """Who had the CPUs that a rank may use, in the focus of analysis."""

    # of what the main thread waited for a CPU, at the expense of processes that are not the job's;
    # of an unmeasured one that which the job surely did not take
    share: float
    busy_cpus: float | None  # CPUs that these processes used on average; None: not measured
    cpus: int  # that the rank may use
    pool_share: float = 0.0
    """The same as `share`, of what threads of the rank waited beside its main one."""


def cpu_takers(rank: Rank, ranks: Sequence[Rank], focus: Focus) -> CpuTakers:
    """Who had the CPUs of a rank.

    While a thread waits, all of its CPUs run something else. The job's other threads can have been
    that for no longer than they ran, over the number of CPUs. Between this and others the waiting
    is dealt out by the CPU time of both. Where ranks that share CPUs are no more than these, each
    main thread has one while others use none, so that none of them holds another up; the job's
    other threads then need no more than the CPUs that those of other ranks leave. What ranks do on
    CPUs that are not this rank's counts as done on them, so that it is never too little that the
    job took; and while less CPU time of a rank is known than before (of a child that ended, and
    that nobody waited for), others took nothing.

    Args:
        rank: whose CPUs.
        ranks: of the job.
        focus: in which.
    """
    main, cpus = rank.main_samples, max(1, rank.cpu_count_allowed)
    if len(main) < 2 or not rank.cpu_count_allowed:
        return CpuTakers(0.0, None, cpus)
    sharing = [one for one in ranks if one.host == rank.host and may_share(one, rank)]
    edges = _edges(rank, sharing, focus)
    is_measured = len(edges) > 1
    if not is_measured:
        edges = np.array([focus.start_ns, focus.end_ns], np.float64)
    length = np.diff(edges)
    waited = _grown(main, "queue_delay_ns", edges)
    withheld = _withheld(rank, edges)
    if not is_measured:
        used = np.sum([_grown(one.process_samples, "cpu_ns", edges) for one in sharing], axis=0)
        rivals, left = _rivals(rank, sharing, used, edges)
        share = _share(length, waited, withheld, rivals, None, left)
        pool = _share(length, _of_pool(rank, edges, waited), withheld, used, None, cpus)
        return CpuTakers(share, None, cpus, pool)
    by_rank = np.array([_grown(one.cpu_samples, "used_ns", edges) for one in sharing])
    used, falls = by_rank.sum(axis=0), (by_rank < 0).any(axis=0)
    busy = _grown(rank.cpu_samples, "busy_ns", edges)
    others, withheld = np.maximum(busy - used, 0.0), np.where(falls, waited, withheld)
    others[falls] = 0.0
    if busy.sum() < MAIN * used.sum():  # the CPUs' own figures hide the most part of the job
        return CpuTakers(0.0, None, cpus)
    span = edges[-1] - edges[0]
    rivals, left = _rivals(rank, sharing, used, edges)
    share = _share(length, waited, withheld, rivals, others, left)
    pool = _share(length, _of_pool(rank, edges, waited), withheld, used, others, cpus)
    return CpuTakers(share, float(others.sum() / span), cpus, pool)


def looks_at_threads(rank: Rank) -> Table:
    """The samples of a rank's process for which all of its threads were looked at.

    They are looked at more rarely than the main one.
    """
    rows = rank.process_samples
    found: Table = rows[np.flatnonzero(np.diff(rows["queue_delay_ns"], prepend=-1))]
    return found


def _of_pool(rank: Rank, edges: Floats, waited: Floats) -> Floats:
    """What the rank's threads waited beside the main one; they are looked at more rarely."""
    return np.maximum(_grown(looks_at_threads(rank), "queue_delay_ns", edges) - waited, 0.0)


def _rivals(rank: Rank, sharing: Sequence[Rank], used: Floats, edges: Floats) -> tuple[Floats, int]:
    """CPU time of the job without the main threads that have a CPU each, and the CPUs it has.

    The rank's own main thread takes nothing from itself, and the others with a CPU each leave the
    rest of the rank's.
    """
    is_room = len(sharing) <= rank.cpu_count_allowed
    rows = [one.main_samples for one in sharing if is_room and one.number != rank.number]
    placed = [_grown(one, "cpu_ns", edges) for one in rows if len(one) > 1]
    own = _grown(rank.main_samples, "cpu_ns", edges)
    rivals: Floats = np.maximum(used - np.sum([own, *placed], axis=0), 0.0)
    return rivals, rank.cpu_count_allowed - len(placed)


def busy_for_anyone(rank: Rank, focus: Focus) -> float | None:
    """CPUs of those that a rank may use that were busy on average, whoever used them.

    Processes that prepare its batches are among them. None: not measured.
    """
    edges = _edges(rank, (), focus)
    if len(edges) < 2:
        return None
    return float(_grown(rank.cpu_samples, "busy_ns", edges).sum() / (edges[-1] - edges[0]))


def _edges(rank: Rank, sharing: Sequence[Rank], focus: Focus) -> Floats:
    """When a rank's CPUs were sampled in the focus, and where it begins and ends between samples.

    Only while all that share them were sampled: what the others of the job used is not known then,
    and would seem to be that of processes outside it. Shape (0,) where that is never so.
    """
    tables = [one.cpu_samples["t"] for one in (rank, *sharing)]
    if not all(len(times) for times in tables):
        return np.empty(0)
    start = max(focus.start_ns, *(int(times[0]) for times in tables))
    end = min(focus.end_ns, *(int(times[-1]) for times in tables))
    if start >= end:
        return np.empty(0)
    return np.unique(np.clip(rank.cpu_samples["t"], start, end)).astype(np.float64)


def _grown(rows: Table, column: str, edges: Floats) -> Floats:
    return counter_growth(edges, rows["t"], rows[column])


def _withheld(rank: Rank, edges: Floats) -> Floats:
    """What the CPU limit of a rank's control group withheld; all time where that is not known."""
    known = rank.main_samples[rank.main_samples["throttled_ns"] >= 0]
    if rank.cgroup_cpus is not None and len(known) < 2:
        return np.diff(edges)
    return _grown(known, "throttled_ns", edges)


def _share(
    length: Floats,
    waited: Floats,
    withheld: Floats,
    own: Floats,
    others: Floats | None,
    cpus: int,
) -> float:
    """Of the waiting, that at the expense of others; all are by stretch, shape (stretches,).

    Where several threads wait at once, what runs holds all of them up. `length` is that of the
    stretches; `own` is what the job ran on so many CPUs.
    """
    whole = float(waited.sum())
    if whole <= 0:
        return 0.0
    left = np.maximum(waited - withheld, 0.0)
    at_once = np.maximum(left / np.maximum(length, 1.0), 1.0)
    taken = np.maximum(left - at_once * own / cpus, 0.0)
    if others is not None:
        both = own + others
        share = np.divide(others, both, out=np.zeros_like(both), where=both > 0)
        # they hold up each of those that wait for no longer than they run
        taken = np.minimum(np.maximum(taken, left * share), at_once * others)
    return float(taken.sum()) / whole
