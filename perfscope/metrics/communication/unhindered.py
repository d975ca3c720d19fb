"""What moving data, and working between calls, take while ranks have a CPU."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.focus import Focus
from perfscope.judging import TURN_NS
from perfscope.matching.pool import dense
from perfscope.matching.waits import Waits
from perfscope.units import NS

FASTEST = 0.02
"""Of the calls like each other: in the others a rank may have lost its CPU."""

FEWEST = 50
"""Calls like each other, of which one is the fastest fiftieth: of fewer nothing is known."""


def unhindered_transfer_s(waits: Waits, focus: Focus) -> float:
    """Seconds of transfer, mean of the ranks, if all calls took as long as the fastest like them.

    Calls are alike that a rank makes of one operation, on one communicator, with as many bytes.
    Ranks that wait for CPUs make transfer longer, but not in every call: this much is moved for all
    that. It is a lower bound: rare calls count nothing, and in no call all goes as fast as in the
    fastest ones.
    """
    return compared_transfer_s(waits, focus)[0]


def compared_transfer_s(waits: Waits, focus: Focus) -> tuple[float, float]:
    """That, and what the calls took of which enough are alike; of others it holds nothing."""
    pool = waits.pool
    begin, leave = np.maximum(waits.need, pool.enter), pool.exit
    rows = np.flatnonzero(waits.known & (begin >= focus.start_ns) & (leave <= focus.end_ns))
    if not len(rows):
        return 0.0, 0.0
    spent = np.maximum(leave[rows] - begin[rows], 0).astype(np.float64)
    size = pool.sent[rows].astype(np.int64) + pool.received[rows]
    alike = dense(pool.op[rows], pool.rank[rows], pool.comm[rows], size)
    compared = float(spent[np.bincount(alike)[alike] >= FEWEST].sum())
    per_rank = NS / len(pool.numbers)
    return _as_fast_as_the_fastest(spent, alike) * per_rank, compared * per_rank


def unhindered_work_s(waits: Waits, focus: Focus, position: int) -> float:
    """Seconds between calls of a rank, if all such took as long as the fastest like them.

    They are alike that lie between the same operations on the same communicators. Counted are those
    that are over within a turn on a CPU: longer ones may hold waiting for one, however fast. This
    much of a rank's work is work, a lower bound as that of transfer.
    """
    pool = waits.pool
    if position >= len(pool.numbers):
        return 0.0
    first, behind = (int(one) for one in pool.offsets[position : position + 2])
    enter, leave = pool.enter[first:behind], pool.exit[first:behind]
    rows = np.flatnonzero((enter >= focus.start_ns) & (leave <= focus.end_ns))
    rows = rows[np.argsort(enter[rows], kind="stable")]
    if len(rows) < FEWEST:
        return 0.0
    left = np.maximum.accumulate(leave[rows])[:-1]
    spent = np.maximum(enter[rows][1:] - left, 0).astype(np.float64)
    kinds = dense(pool.op[first:behind][rows], pool.comm[first:behind][rows])
    alike = dense(kinds[:-1], kinds[1:])
    return _as_fast_as_the_fastest(spent, alike, most=TURN_NS) * NS


def _as_fast_as_the_fastest(spent: Floats, alike: Ints, *, most: float = np.inf) -> float:
    """The sum if each took as long as the fastest of those like it, shape (times,) both.

    Those of which the fastest takes more than `most` are left out.
    """
    order = np.lexsort((spent, alike))
    counts = np.bincount(alike)
    fast = np.cumsum(counts) - counts + (FASTEST * (counts - 1)).astype(np.int64)
    fastest = spent[order][fast]
    is_counted = (counts >= FEWEST) & (fastest <= most)
    return float(np.where(is_counted, fastest * counts, 0.0).sum())
