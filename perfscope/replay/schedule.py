"""Where a program is cut: its meetings of all ranks."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.replay.meetings import Kind, Meetings

INCONSISTENT = "the ranks enter the same collectives in different orders"


def cut_table(meetings: Meetings, starts: Ints) -> Ints:
    """Rows of every collective that holds all ranks, framed by starts and ends: (cuts + 2, ranks).

    `starts` has the first row of each rank, and one past the last row.

    Raises:
        ValueError: the ranks do not agree on the order.
    """
    ranks = len(starts) - 1
    rows = meetings.rows[is_cut(meetings, ranks)[meetings.instance]].reshape(-1, ranks)
    # columns in the order of the ranks, whatever their order in the communicator
    cuts = np.sort(rows, axis=1)
    cuts = cuts[np.argsort(cuts[:, 0], kind="stable")]
    table = np.concatenate([starts[None, :-1], cuts, starts[None, 1:] - 1])
    if np.any(np.diff(table, axis=0) <= 0):
        raise ValueError(INCONSISTENT)
    return table


def is_cut(meetings: Meetings, ranks: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which meetings hold all ranks, block, and let nobody go before all have come."""
    whole = (np.diff(meetings.starts) == ranks) & (meetings.kind == Kind.ALL)
    result: np.ndarray[tuple[int], np.dtype[np.bool_]] = whole & meetings.blocking
    result[meetings.instance[meetings.silent]] = False
    return result
