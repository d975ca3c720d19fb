"""Totals of operations by their code."""

import numpy as np

from perfscope.trace.model import RowFlag, Table


def totals_of(operations: Table) -> dict[int, tuple[int, int, int, int]]:
    """Calls, nanoseconds, and bytes sent and received of each operation that has rows."""
    order = np.argsort(operations["op"], kind="stable")
    codes, starts = np.unique(operations["op"][order], return_index=True)
    if not len(codes):
        return {}
    is_joined = (operations["flags"] & RowFlag.COALESCED) > 0
    columns = (
        np.where(is_joined, operations["request"], 1),
        operations["t1"] - operations["t0"],
        operations["sent"],
        operations["received"],
    )
    sums = (np.add.reduceat(column.astype(np.int64)[order], starts) for column in columns)
    return dict(zip(codes.tolist(), zip(*(one.tolist() for one in sums), strict=True), strict=True))
