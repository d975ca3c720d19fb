"""Threads of Python code beside the main thread that want a CPU all the time."""

from collections.abc import Sequence

from perfscope.findings.core import thresholds
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.node_threads import NodeLoad
from perfscope.findings.facts.own_callers import SELDOM
from perfscope.judging import MAIN
from perfscope.metrics.host.interpreter_lock import LockWait
from perfscope.metrics.results import Results
from perfscope.units import NS


def side_threads(results: Results, load: NodeLoad) -> list[LockWait]:
    """Ranks of a node with such threads, most first.

    A thread that waits for more to do, or until what it made is taken, works as asked: it takes a
    CPU, and that is what it is there for.
    """
    return [one for one in busy_threads(results, load) if one.rests < SELDOM]


def busy_threads(results: Results, load: NodeLoad) -> list[LockWait]:
    """Ranks of a node with threads of Python code that want a CPU most of the time, most first."""
    least_s = MAIN * results.focus.length_ns * NS
    waits = [one for one in results.lock_waits if one.rank in load.node.ranks]
    return sorted((w for w in waits if w.wanted_s > least_s), key=lambda one: -one.wanted_s)


def keeps_lock(one: LockWait) -> bool:
    """Whether such a thread keeps the interpreter lock from the main thread, and no CPU alone."""
    return one.waited_s >= thresholds.WARN_SHARE * one.work_s or one.polls


def take_the_cpus(run: Facts, load: NodeLoad, threads: Sequence[LockWait]) -> bool:
    """Whether such threads alone are why main threads wait for CPUs that the job uses.

    They are where no more ranks than CPUs are there, no pool is too large, the main threads of
    their ranks wait for most of it, and what they keep from these is no lock.
    """
    if not threads or load.too_many_ranks or any(keeps_lock(one) for one in threads):
        return False
    if any(pool.threads > load.threads_per_rank for pool in load.pools):
        return False
    ranks = {one.rank for one in threads}
    waits = [one for one in run.results.resources.cpu_waits if one.rank in load.node.ranks]
    waited = {one.rank: one.part(is_of_others=False).in_work_s for one in waits}
    own_s = sum(seconds for rank, seconds in waited.items() if rank in ranks)
    return own_s > MAIN * sum(waited.values())
