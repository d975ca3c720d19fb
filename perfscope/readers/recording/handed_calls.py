"""MPI calls of a thread that the main one hands its work to, as JAX and pools of threads do.

What such a thread calls is then what the rank does: the main thread only waits for it.
"""

from collections.abc import Set as AbstractSet

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, counter_growth
from perfscope.judging import MAIN
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, RowFlag, Table

_COUNTERS = ("cpu_ns", "queue_delay_ns")


@dataclass(frozen=True)
class _Used:
    """What threads ran, or waited for a CPU, between two samples of the main thread.

    Shape (samples - 1,), in ns, by counter. Of other threads only the process is sampled: the
    callers have the part of it that is theirs over the life of the process.
    """

    moments: Ints
    by_main: dict[str, Floats]
    by_callers: dict[str, Floats]
    by_others: dict[str, Floats]


def take_handed_calls(rank: Rank) -> int:
    """Makes the calls of other threads the main thread's, where it waits for them; says how many.

    They stay where they are if two threads call at once, if a framework tells what the main
    thread waits for, or if something else than the callers was at work in most of the calls' time:
    the main thread, or a thread that it may be waiting for instead.
    """
    is_sampled = len(rank.main_samples) > 1 and len(rank.process_samples) > 1
    if not is_sampled or not np.any(rank.operations["tid"] != rank.main_tid):
        return 0
    if np.any(rank.phases["kind"] == PhaseKind.COMMUNICATION):
        return 0
    rows = rank.operations[np.argsort(rank.operations["t0"], kind="stable")]
    if np.any(rows["t0"][1:] < rows["t1"][:-1]):
        return 0
    calls = rows[rows["tid"] != rank.main_tid]
    threads = np.unique(calls["tid"])
    used = _used(rank, set(threads.tolist()))
    called = np.diff(_called_ns(calls, used.moments))
    if not _is_idle(used, called):
        return 0
    _add_callers(rank, used, called)
    for table in (rank.operations, rank.completions):
        is_theirs = np.isin(table["tid"], threads)
        table["flags"][is_theirs] |= np.uint16(RowFlag.HANDED)
        table["tid"][is_theirs] = rank.main_tid
    return len(calls)


def _used(rank: Rank, callers: AbstractSet[int]) -> _Used:
    main, process = rank.main_samples, rank.process_samples
    used = _Used(main["t"].astype(np.int64), {}, {}, {})
    for name in _COUNTERS:
        used.by_main[name] = np.diff(main[name].astype(np.float64))
        by_all = counter_growth(used.moments, process["t"], process[name])
        rest = np.maximum(by_all - used.by_main[name], 0.0)
        of_threads = {one.tid: int(getattr(one, name)) for one in rank.threads}
        of_threads.pop(rank.main_tid, None)
        theirs = sum(ns for tid, ns in of_threads.items() if tid in callers)
        used.by_callers[name] = rest * (theirs / max(sum(of_threads.values()), 1))
        used.by_others[name] = rest - used.by_callers[name]
    return used


def _is_idle(used: _Used, called: Ints) -> bool:
    """Whether, in most of the calls' time, no thread but the caller ran or waited for a CPU."""
    length: Floats = np.maximum(np.diff(used.moments).astype(np.float64), 1.0)
    wanted = sum(used.by_main[name] + used.by_others[name] for name in _COUNTERS)
    at_work = np.sum(np.minimum(wanted / length, 1.0) * called)
    return bool(called.sum() > 0 and at_work < MAIN * called.sum())


def _called_ns(calls: Table, moments: Ints) -> Ints:
    """For each moment how long calls, one after the other, had taken until then."""
    begins, lengths = calls["t0"], calls["t1"] - calls["t0"]
    place = np.searchsorted(begins, moments, side="right") - 1
    begun: Bools = place >= 0
    before = np.cumsum(lengths) - lengths
    spent = before[place] + np.minimum(moments - begins[place], lengths[place])
    return np.where(begun, spent, 0)


def _add_callers(rank: Rank, used: _Used, called: Ints) -> None:
    """Adds what the callers used to the main thread's samples, where there are calls of theirs.

    One waits for the other, so that together they use no more than the time between two samples.
    """
    samples = rank.main_samples.copy()
    left_ns = np.diff(used.moments) - sum(used.by_main[name] for name in _COUNTERS)
    left_ns = np.where(called > 0, np.maximum(left_ns, 0.0), 0.0)
    for name in _COUNTERS:
        more = np.minimum(used.by_callers[name], left_ns)
        left_ns -= more
        samples[name][1:] += np.cumsum(more).astype(np.int64)
    rank.main_samples = samples
    at = np.searchsorted(used.moments, rank.clock_samples["t"], side="right")
    of_calls = np.concatenate([[False], called > 0, [False]])
    rank.clock_samples = rank.clock_samples[~of_calls[at]]  # of the main thread alone
