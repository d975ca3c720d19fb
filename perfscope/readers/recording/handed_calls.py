"""Calls of MPI that another thread makes while the main one waits for it.

JAX runs compiled functions, and a pool its tasks, in threads of their own. What these call is then
what the rank does: the main thread does nothing else meanwhile.
"""

from collections.abc import Set as AbstractSet

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, counter_growth
from perfscope.judging import MAIN
from perfscope.trace.model import Rank, Table

_USED = ("cpu_ns", "queue_delay_ns")


def take_handed_calls(rank: Rank) -> int:
    """Has the main thread make the calls of the threads that it waits for; says how many.

    They are left where they are if two threads call at once, or if the main thread was not idle
    during most of their time, by the CPU time between its samples.
    """
    rows = rank.operations
    handed = rows["tid"] != rank.main_tid
    if not handed.any() or not _are_one_sequence(rows) or not _is_idle(rank, rows[handed]):
        return 0
    threads = np.unique(rows["tid"][handed])
    rank.main_samples = _with_callers(rank, set(threads.tolist()))
    rank.clock_samples = rank.clock_samples[:0]  # of the main thread alone, which is idle
    for table in (rank.operations, rank.completions):
        table["tid"][np.isin(table["tid"], threads)] = rank.main_tid
    return int(np.count_nonzero(handed))


def _are_one_sequence(rows: Table) -> bool:
    """Whether each call begins when the one before has ended."""
    order = np.argsort(rows["t0"], kind="stable")
    return bool(np.all(rows["t0"][order][1:] >= rows["t1"][order][:-1]))


def _is_idle(rank: Rank, calls: Table) -> bool:
    """Whether the main thread neither ran nor waited for a CPU during most of the calls' time."""
    moments = rank.main_samples["t"].astype(np.int64)
    if len(moments) < 2:
        return False
    called = np.diff(_called_ns(calls, moments))
    wanted = sum(counter_growth(moments, moments, rank.main_samples[one]) for one in _USED)
    length: Floats = np.maximum(np.diff(moments).astype(np.float64), 1.0)
    at_work = np.sum(np.minimum(wanted / length, 1.0) * called)
    return bool(called.sum() > 0 and at_work < MAIN * called.sum())


def _called_ns(calls: Table, moments: Ints) -> Ints:
    """For each moment how long calls, one after the other, had taken until then."""
    order = np.argsort(calls["t0"], kind="stable")
    begins, lengths = calls["t0"][order], (calls["t1"] - calls["t0"])[order]
    place = np.searchsorted(begins, moments, side="right") - 1
    begun: Bools = place >= 0
    before = np.cumsum(lengths) - lengths
    spent = before[place] + np.minimum(moments - begins[place], lengths[place])
    return np.where(begun, spent, 0)


def _with_callers(rank: Rank, callers: AbstractSet[int]) -> Table:
    """Samples of the main thread with what the callers used and waited for.

    Only the process is sampled between its begin and end: of what its other threads used then, the
    callers have the part that is theirs in the end. Who waits for whom runs one after the other.
    """
    samples, process = rank.main_samples.copy(), rank.process_samples
    left_ns = np.diff(samples["t"].astype(np.float64))
    for name in _USED:
        own = np.diff(samples[name].astype(np.float64))
        of_others = counter_growth(samples["t"], process["t"], process[name]) - own
        of_threads = {one.tid: int(getattr(one, name)) for one in rank.threads}
        of_threads.pop(rank.main_tid, None)
        theirs = sum(ns for tid, ns in of_threads.items() if tid in callers)
        part = theirs / max(sum(of_threads.values()), 1)
        more = np.clip(of_others * part, 0.0, np.maximum(left_ns - own, 0.0))
        left_ns -= own + more
        samples[name][1:] += np.cumsum(more).astype(np.int64)
    return samples
