"""Columns stand for the structured array that they were taken from."""

from typing import cast

import numpy as np

from perfscope.matching.waits import split_operations
from perfscope.trace.columns import Columns
from perfscope.trace.model import OPERATION_DTYPE, Table
from tests.support.trace_builder import TraceBuilder


def _apart(rows: Table) -> Table:
    """What stands for some rows, which it copies."""
    columns = {name: rows[name].copy() for name in rows.dtype.names or ()}
    return cast("Table", Columns(rows.dtype, columns))


def test_columns_give_what_the_table_gives() -> None:
    table = np.zeros(6, OPERATION_DTYPE)
    for number, name in enumerate(OPERATION_DTYPE.names or ()):
        table[name] = np.arange(6) + number
    columns = _apart(table)
    odd = table["t0"] % 2 == 1
    assert len(columns) == len(table)
    assert columns["peer"].tolist() == table["peer"].tolist()
    for chosen in (odd, slice(1, 4), np.array([5, 0]), slice(0, 0)):
        assert columns[chosen].tobytes() == table[chosen].tobytes()
    assert columns[-1] == table[-1]
    assert columns[2] == table[2]
    assert columns.copy().tobytes() == np.asarray(columns).tobytes() == table.tobytes()
    assert np.concatenate([columns, table]).tobytes() == np.tile(table, 2).tobytes()
    for one in (columns, table):
        one["t0"] += 7
        one["tag"] = one["tag"] * 2
        one["request"][odd] = 0
    assert columns.copy().tobytes() == table.tobytes()


def test_a_pool_has_the_operations_but_once() -> None:
    builder = TraceBuilder(2, end_s=9.0)
    for number in range(2):
        builder.rank(number).op("MPI_Barrier", 1.0 + number, 3.0).op("MPI_Barrier", 4.0, 5.0)
    trace = builder.build()
    before = [rank.operations.copy() for rank in trace.ranks]
    for rank in trace.ranks:
        rank.operations = _apart(rank.operations)
    pool = split_operations(trace).pool
    for rank, table in zip(trace.ranks, before, strict=True):
        assert np.array_equal(np.asarray(rank.operations), table)
        for column, of_all in (("t0", pool.enter), ("request", pool.request)):
            assert np.shares_memory(rank.operations[column], of_all)
