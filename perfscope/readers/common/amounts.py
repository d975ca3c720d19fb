"""Which numbers of bytes, and which times, can be true."""

import numpy as np

from perfscope.trace.model import Table

MAX_AMOUNT = 1 << 60
"""Byte counts and ids above this are damage."""

LONGEST_NS = 400 * 86400 * 10**9
"""No job takes longer."""

LATEST_NS = 1 << 62
"""No clock says more."""


def forget_impossible_sizes(rows: Table) -> int:
    """Sets sizes that cannot be true to 0, which is unknown, and returns in how many rows.

    The rows are changed in place.
    """
    wrong = np.zeros(len(rows), np.bool_)
    for column in ("sent", "received"):
        impossible = (rows[column] < 0) | (rows[column] >= MAX_AMOUNT)
        rows[column][impossible] = 0
        wrong |= impossible
    return int(np.count_nonzero(wrong))
