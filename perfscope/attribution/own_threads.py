"""Which waits of main threads are a library's computing, by threads of its own.

A numeric library hands work to a pool of threads and waits until it is done, by the same system
call that waits for a lock. Where no function on the stack tells which of both it is, the CPU time
of the process does: a lock is waited for while nothing else of the process works, or while a
thread that runs Python code keeps it, and is seen.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints, counter_growth
from perfscope.judging import CPU_WINDOW_NS, FEWEST_SAMPLES, MAIN
from perfscope.trace.model import Rank, Table


def waits_computed(ranks: Sequence[Rank], waits_in: Ints) -> Bools:
    """Which stacks show a wait in which threads without Python code compute.

    Args:
        ranks: all ranks of the trace.
        waits_in: by stack the place that waits for nobody knows what, -1 none; shape (stacks,).

    Returns:
        Stacks of the places in whose waits such threads ran, or waited for a CPU, most of the
        time; what was seen too seldom at one place goes by all of them. Shape (stacks,).
    """
    places = int(waits_in.max(initial=-1)) + 1
    seen, works = np.zeros(places), np.zeros(places)
    for rank in ranks if places else ():
        own = rank.main_stacks
        place = waits_in[own["stack"]]
        waits = place >= 0
        if waits.any():
            seen += np.bincount(place[waits], minlength=places)
            works += np.bincount(place[waits], _at_work(rank, own, waits), minlength=places)
    is_seldom = seen < FEWEST_SAMPLES
    seen, works = np.where(is_seldom, seen.sum(), seen), np.where(is_seldom, works.sum(), works)
    computed = np.append((seen >= FEWEST_SAMPLES) & (works > MAIN * seen), False)
    return np.asarray(computed[waits_in], np.bool_)


def cpu_wanted(edges: npt.ArrayLike, samples: Table) -> Floats:
    """How long threads ran or waited for a CPU between moments, by their samples, in ns."""
    return counter_growth(edges, samples["t"], samples["cpu_ns"] + samples["queue_delay_ns"])


def _at_work(rank: Rank, own: Table, waits: Bools) -> Floats:
    """For each wait that was seen the part of it in which threads without Python code worked."""
    main, process = rank.main_samples, rank.process_samples
    count = max(1, round((rank.end_ns - rank.start_ns) / CPU_WINDOW_NS))
    edges = np.linspace(rank.start_ns, rank.end_ns, count + 1)
    if not len(main) or not len(process):
        return np.zeros(int(waits.sum()))
    by_all, by_main = cpu_wanted(edges, process), cpu_wanted(edges, main)
    waited = np.histogram(own["t"][waits], edges)[0] / np.maximum(
        np.histogram(own["t"], edges)[0], 1
    )
    share = (by_all - by_main) * _without_python(rank) / np.maximum(waited * np.diff(edges), 1.0)
    window = np.clip(np.searchsorted(edges, own["t"][waits], side="right") - 1, 0, count - 1)
    return np.asarray(np.clip(share, 0.0, 1.0)[window], np.float64)


def _without_python(rank: Rank) -> float:
    """The part of what all threads but the main one wanted to run that is of no Python code."""
    names = rank.metadata.get("python_threads")
    known = set(np.unique(rank.stacks["tid"]).tolist())
    known.update(int(one) for one in names if one.isdigit()) if isinstance(names, dict) else None
    wanted = {
        one.tid: one.cpu_ns + one.queue_delay_ns for one in rank.threads if one.tid != rank.main_tid
    }
    return sum(ns for tid, ns in wanted.items() if tid not in known) / max(sum(wanted.values()), 1)
