"""What moving data takes while every rank that takes part has a CPU."""

import numpy as np

from perfscope.attribution.focus import Focus
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
    pool, ranks = waits.pool, len(waits.pool.numbers)
    begin = np.maximum(waits.need, pool.enter)
    rows = np.flatnonzero(waits.known & (begin >= focus.start_ns) & (pool.exit <= focus.end_ns))
    if not len(rows):
        return 0.0
    spent = np.maximum(pool.exit[rows] - begin[rows], 0).astype(np.float64)
    size = pool.sent[rows].astype(np.int64) + pool.received[rows]
    alike = dense(pool.op[rows], pool.rank[rows], pool.comm[rows], size)
    order = np.lexsort((spent, alike))
    counts = np.bincount(alike)
    fast = np.cumsum(counts) - counts + (FASTEST * (counts - 1)).astype(np.int64)
    counted = np.where(counts >= FEWEST, counts, 0)
    return float((spent[order][fast] * counted).sum()) / ranks * NS
