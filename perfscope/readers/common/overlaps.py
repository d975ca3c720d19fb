"""Calls of a thread that would overlap, which no thread can do."""

import numpy as np

from perfscope.trace.model import Table


def one_at_a_time(table: Table) -> None:
    """A thread is in one call at a time: what begins earlier ends before the next one begins."""
    for tid in np.unique(table["tid"]).tolist():
        mine = np.flatnonzero(table["tid"] == tid)
        reach = np.maximum.accumulate(table["t1"][mine])
        table["t0"][mine[1:]] = np.maximum(table["t0"][mine[1:]], reach[:-1])
        table["t1"][mine] = np.maximum(table["t1"][mine], table["t0"][mine])
