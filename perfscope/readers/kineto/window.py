"""Which part of a profile is that of the program: profilers do not start together on all ranks."""

from collections.abc import Sequence

import numpy as np

from perfscope.trace.elsewhere import communication_of
from perfscope.trace.meeting_kernels import meeting_rows
from perfscope.trace.model import Rank, Table

TIMES_LONGER = 3
LEAST_NS = 1_000_000
LEAST_COLLECTIVES = 4


def judged_from(ranks: Sequence[Rank], names: Sequence[str]) -> tuple[int | None, str]:
    """The end of the first collective, where only the start of the profilers made it long.

    It waits for the rank whose profiler starts last; that it is so is taken from the skew of its
    arrivals, which is then several times the largest of all others.
    """
    if len(ranks) < 2:
        return None, ""
    tables = zip(ranks, communication_of(ranks), strict=True)
    calls = np.concatenate([_calls(rank, rows, names) for rank, rows in tables])
    if not len(calls):
        return None, ""
    _, group = np.unique(calls[:, :2], axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    enter, leave = calls[order, 2], calls[order, 3]
    ranks_in = np.add.reduceat(np.ones(len(order), np.int64), starts)
    first, last = np.minimum.reduceat(enter, starts), np.maximum.reduceat(enter, starts)
    ends = np.maximum.reduceat(leave, starts)
    shared = np.flatnonzero(ranks_in == len(ranks))
    if len(shared) < LEAST_COLLECTIVES:
        return None, ""
    shared = shared[np.argsort(first[shared], kind="stable")]
    skew = (last - first)[shared]
    if skew[0] < max(TIMES_LONGER * int(skew[1:].max()), LEAST_NS):
        return None, ""
    reason = (
        f"without the first collective, which {skew[0] * 1e-6:,.1f} ms passed between the ranks' "
        f"arrivals at (the longest of all others: {skew[1:].max() * 1e-6:,.1f} ms): the profilers "
        "did not start together"
    )
    return int(ends[shared[0]]), reason


def _calls(
    rank: Rank, kernels: Table, names: Sequence[str]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Collectives of the host or, without any, of the devices: communicator, ordinal, times.

    Of the devices only those that wait for all: the others have ordinals of their own.
    """
    rows = rank.operations
    if not len(rows):
        rows = kernels[meeting_rows(kernels, names)]
    rows = rows[(rows["comm"] >= 0) & (rows["seq"] >= 0)]
    columns = [rows[name].astype(np.int64) for name in ("comm", "seq", "t0", "t1")]
    return np.stack(columns, 1)
