"""T_id: how long the run would take on a network without transfer time (docs/metrics.md)."""

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import MOST_AT_ONCE
from perfscope.judging import NEGLIGIBLE
from perfscope.matching.codes import N_TO_N_CODES, NONBLOCKING_CODES
from perfscope.matching.collectives import Instances
from perfscope.schema.common import Metric
from perfscope.trace.operations import MAX_OPERATIONS, OperationClass, name_of


def ideal_network(prepared: Prepared) -> Metric:
    """T_id in seconds over the focus of analysis.

    In programs of collectives over all ranks that synchronize, T_id is the sum over the collectives
    of the longest work before each, and of the longest work after the last. Other programs need a
    replay: value None.
    """
    focus = prepared.focus
    if focus.length_ns <= 0:
        return Metric(None, "s", "the window is empty")
    if why := prepared.waits.clocks.reason:
        return Metric(None, "s", f"not resolvable: {why}")
    chosen = _qualifying(prepared)
    if reason := _obstacle(prepared, chosen):
        return Metric(None, "s", reason)
    enters = _enters(prepared, chosen)
    if enters is None:
        return Metric(None, "s", "the ranks enter their collectives in different orders")
    work = []
    for position, timeline in enumerate(prepared.timelines):
        outside = timeline.outside_communication(focus)
        moments = np.concatenate([enters[:, position], [focus.end_ns]])
        work.append(np.diff(outside.at(moments), prepend=0))
    total = np.stack(work).max(axis=0).sum()
    return Metric(float(total) / 1e9, "s", foa=focus.kind, formula="pop")


def _qualifying(prepared: Prepared) -> Ints:
    """Blocking instances over all recorded ranks that nobody leaves before everybody has come."""
    trace, instances = prepared.trace, prepared.waits.instances
    numbers = {rank.number for rank in trace.ranks}
    whole = np.array([set(c.members) == numbers for c in trace.communicators], np.bool_)
    if not len(instances):
        return np.empty(0, np.int64)
    wide = instances.synchronizing | N_TO_N_CODES[instances.op]
    return np.flatnonzero(
        wide & ~NONBLOCKING_CODES[instances.op] & whole[instances.comm] & _on_main(prepared)
    )


def _on_main(prepared: Prepared) -> Bools:
    """Whether all calls of an instance were made on the ranks' main locations."""
    pool, instances = prepared.waits.pool, prepared.waits.instances
    main = np.array([rank.main_tid for rank in prepared.trace.ranks], np.int64)
    elsewhere = pool.tid[instances.members] != main[pool.rank[instances.members]]
    result: Bools = np.add.reduceat(elsewhere.astype(np.int64), instances.starts[:-1]) == 0
    return result


def _obstacle(prepared: Prepared, chosen: Ints) -> str | None:
    """Why the closed formula does not hold, None when it does."""
    focus, pool = prepared.focus, prepared.waits.pool
    covered = pool.is_of(OperationClass.INIT, OperationClass.FINALIZE)
    covered[_members(prepared.waits.instances, chosen)] = True
    by_rank, counts = np.zeros(len(pool.numbers)), np.zeros(MAX_OPERATIONS, np.int64)
    for first in range(0, len(pool), MOST_AT_ONCE):
        here = slice(first, first + MOST_AT_ONCE)
        spent = np.minimum(pool.exit[here], focus.end_ns)
        spent -= np.maximum(pool.enter[here], focus.start_ns)
        rows = np.flatnonzero(~covered[here] & (spent > 0))
        by_rank += np.bincount(pool.rank[here][rows], spent[rows], minlength=len(by_rank))
        counts += np.bincount(pool.op[here][rows], minlength=len(counts))
    if by_rank.max(initial=0.0) <= NEGLIGIBLE * max(1, focus.length_ns):
        return None
    largest = np.argsort(-counts, kind="stable")[:3].tolist()
    names = ", ".join(f"{name_of(code)} ({int(counts[code])})" for code in largest if counts[code])
    return (
        "needs the replay of operations that are not collectives over all ranks on their main "
        f"thread: {names}"
    )


def _members(instances: Instances, chosen: Ints) -> Ints:
    wanted = np.zeros(len(instances), np.bool_)
    wanted[chosen] = True
    return instances.members[wanted[instances.instance_of_member]]


def _enters(prepared: Prepared, chosen: Ints) -> Ints | None:
    """Enters by (collective, rank) in order; None when the ranks' orders differ."""
    ranks = len(prepared.trace.ranks)
    pool = prepared.waits.pool
    rows = _members(prepared.waits.instances, chosen)
    enters = pool.enter[rows].reshape(-1, ranks)
    enters = enters[np.argsort(enters[:, 0], kind="stable")]
    return enters if bool(np.all(enters[1:] >= enters[:-1])) else None
