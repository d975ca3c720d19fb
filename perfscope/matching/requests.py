"""Which call started what completes in which call."""

import numpy as np

from perfscope.matching.messages import Rows
from perfscope.matching.pool import Pool
from perfscope.trace.model import Trace
from perfscope.trace.operations import OperationClass


def completed_requests(trace: Trace, pool: Pool) -> tuple[Rows, Rows]:
    """For each completed request the row that created it and the wait or test, -1 not known."""
    completions = Pool.of(trace.ranks, [rank.completions for rank in trace.ranks])
    return _starting_rows(pool, completions), _enclosing_rows(pool, completions)


def _starting_rows(pool: Pool, completions: Pool) -> Rows:
    """For each completion the row that created its request, -1 when that is not recorded."""
    makers = np.flatnonzero(
        pool.is_of(OperationClass.ISEND, OperationClass.IRECV, OperationClass.I_COLLECTIVE)
        & (pool.request > 0)
    )
    result = np.full(len(completions), -1, np.int64)
    for position, made in enumerate(pool.by_rank(makers)):
        span = slice(int(completions.offsets[position]), int(completions.offsets[position + 1]))
        if not len(made) or span.start == span.stop:
            continue
        own = made[np.argsort(pool.request[made], kind="stable")]
        requests = completions.request[span]
        place = np.minimum(np.searchsorted(pool.request[own], requests), len(own) - 1)
        result[span] = np.where(pool.request[own[place]] == requests, own[place], -1)
    return result


def _enclosing_rows(pool: Pool, completions: Pool) -> Rows:
    """For each completion the wait or test of its thread that it happened in, -1 none."""
    waits = np.flatnonzero(pool.is_of(OperationClass.WAIT, OperationClass.TEST))
    result = np.full(len(completions), -1, np.int64)
    done = completions.by_rank(np.arange(len(completions)))
    for own, rows in zip(pool.by_rank(waits), done, strict=True):
        for tid in np.unique(completions.tid[rows]):
            mine = rows[completions.tid[rows] == tid]
            result[mine] = _around(pool, own[pool.tid[own] == tid], completions.enter[mine])
    return result


def _around(pool: Pool, own: Rows, at: Rows) -> Rows:
    """Which of the calls of a thread each moment is in, -1 none."""
    if not len(own):
        return np.full(len(at), -1, np.int64)
    # rows are in order of time; the last one that began before the completion is the one
    place = np.maximum(np.searchsorted(pool.enter[own], at, side="right") - 1, 0)
    inside = (pool.enter[own[place]] <= at) & (at <= pool.exit[own[place]])
    return np.where(inside, own[place], -1)
