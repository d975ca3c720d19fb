"""Totals of operations by their code."""

import numpy as np

from perfscope.trace.model import RowFlag, Table


def totals_of(operations: Table) -> dict[int, tuple[int, int, int, int]]:
    """Calls, nanoseconds, and bytes sent and received of each operation that has rows."""
    codes, place = np.unique(operations["op"], return_inverse=True)
    is_joined = (operations["flags"] & RowFlag.COALESCED) > 0
    sums = np.zeros((len(codes), 4), np.int64)
    columns = (
        np.where(is_joined, operations["request"], 1),
        operations["t1"] - operations["t0"],
        operations["sent"],
        operations["received"],
    )
    for number, column in enumerate(columns):
        np.add.at(sums[:, number], place.reshape(-1), column)
    return dict(zip(codes.tolist(), map(tuple, sums.tolist()), strict=True))
