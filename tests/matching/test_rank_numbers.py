"""Runs of so many ranks that a narrow column has room for the number of the last one, or not."""

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from perfscope import _core
from perfscope.arrays import narrowed
from perfscope.matching.collectives import match_collectives
from perfscope.matching.messages import match_messages
from perfscope.matching.waits import Waits, split_operations
from perfscope.metrics.compute import compute
from perfscope.metrics.forgetting import hold_narrower
from perfscope.metrics.results import Options
from perfscope.replay.segments import SegmentReplay
from perfscope.trace.model import Trace
from perfscope.trace.operations import code_of
from tests.support.trace_builder import TraceBuilder

BYTES = {128: 1, 129: 2, 32_768: 2, 32_769: 4}
"""Of the number of a rank, by how many ranks there are: the last one's is one less."""

NS = 1_000_000_000


def run_of(ranks: int) -> Trace:
    """The last rank sends to the one before it, is the root of a broadcast, and both are late."""
    builder = TraceBuilder(ranks, end_s=10.0)
    last = ranks - 1
    for number in range(ranks):
        rank = builder.rank(number)
        rank.init(0.5)
        if number == last:
            rank.op("MPI_Send", 2.0, 2.1, peer=last - 1, tag=1, sent=8)
        if number == last - 1:
            rank.op("MPI_Recv", 1.0, 2.2, peer=last, tag=1, received=8)
        begun = 4.0 if number == last else 3.0
        rank.op("MPI_Bcast", begun, 4.5, peer=last, sent=8, received=8)
        begun = 6.0 if number == last - 1 else 5.0
        rank.op("MPI_Allreduce", begun, 6.5, sent=8, received=8)
        rank.finalize(9.0)
    return builder.build()


@cache
def waits_of(ranks: int) -> tuple[Trace, Waits, Waits]:
    """The run, its waits, and the same on columns as narrow as its numbers."""
    trace = run_of(ranks)
    wide = split_operations(trace)
    narrow = replace(wide, pool=copy.copy(wide.pool))
    hold_narrower(trace, narrow)
    return trace, wide, narrow


def calls(waits: Waits, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows of an operation, rank after rank."""
    return np.flatnonzero(waits.pool.op == code_of(name))


@pytest.mark.parametrize(  # how wide 32,768 are is asked of the columns alone, below
    "ranks", [pytest.param(one, marks=[pytest.mark.long] * (one == 32_768)) for one in BYTES]
)
def test_everyone_waits_for_the_rank_that_is_late(ranks: int) -> None:
    trace, wide, narrow = waits_of(ranks)
    last = ranks - 1
    sends, takes = calls(wide, "MPI_Send"), calls(wide, "MPI_Recv")
    casts, sums = calls(wide, "MPI_Bcast"), calls(wide, "MPI_Allreduce")
    assert narrow.pool.rank.dtype.itemsize == BYTES[ranks]
    assert narrow.pool.rank[[*sends, *takes]].tolist() == [last, last - 1]
    assert narrow.pool.peer[[*sends, *takes, casts[0]]].tolist() == [last - 1, last, last]
    assert wide.messages.send_of[takes].tolist() == sends.tolist()
    assert (wide.need[takes].tolist(), wide.cause[takes].tolist()) == ([2 * NS], sends.tolist())
    assert set(wide.need[casts[:-1]].tolist()) == {4 * NS}
    assert set(wide.cause[casts[:-1]].tolist()) == {casts[last]}
    assert set(wide.need[np.delete(sums, last - 1)].tolist()) == {6 * NS}
    assert set(wide.cause[np.delete(sums, last - 1)].tolist()) == {sums[last - 1]}
    again = match_collectives(trace, narrow.pool).instances
    assert again.cause.tolist() == wide.instances.cause.tolist()
    assert match_messages(trace, narrow.pool).send_of.tolist() == wide.messages.send_of.tolist()


@pytest.mark.parametrize("ranks", [one for one in BYTES if one < 1000])
def test_the_replay_tells_whom_ranks_waited_for(ranks: int) -> None:
    results = compute(run_of(ranks), Options())
    hold_narrower(results.trace, results.waits)
    replay = SegmentReplay(results)
    assert replay.program is not None, replay.reason
    assert replay.program.row_rank.dtype.itemsize == BYTES[ranks]
    assert replay.relative_error == pytest.approx(0.0, abs=1e-12)
    assert replay.causes is not None
    longest, last = replay.causes.pairs[0], ranks - 1
    assert (longest.waiter, longest.cause) == (last - 1, last)
    assert longest.seconds == pytest.approx(1.0 + 1.0)
    assert replay.causes.waiting_s == pytest.approx(1.0 + 2 * last)


@pytest.mark.parametrize("ranks", BYTES)
def test_work_counts_for_its_rank(ranks: int) -> None:
    of_row = np.repeat(np.arange(ranks, dtype=np.int32), 2)
    ns, codes = np.arange(1.0, 2 * ranks + 1), narrowed(of_row)
    assert codes.dtype.itemsize == BYTES[ranks]
    rows = np.arange(2 * ranks, dtype=np.int32)
    wanted = (ns[::2] + ns[1::2]).tolist()
    assert _core.work_by_rank(rows, ns, codes, ranks=ranks).tolist() == wanted
    unit, none = np.zeros(2 * ranks, np.int32), np.zeros(2 * ranks)
    found = _core.sums_by_unit(ns, none, unit, codes, units=1, ranks=ranks)
    assert found[::2].tolist() == wanted
    keys = rows.astype(np.int64)
    assert _core.sums_by_key(ns, keys, codes, ranks).tolist() == wanted
    numbers, count = _core.like_rows(codes, unit, unit, 1)
    assert (count, numbers.tolist()) == (2 * ranks, list(range(2 * ranks)))
