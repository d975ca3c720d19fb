"""Everything that has a start and an end on one rank, thread after thread, fit to be nested.

Viewers and OTF2 want the intervals of a thread to lie inside each other or apart. Those that
overlap otherwise go to another lane of the thread; operations stay on the first one.
"""

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.dataframes.columns import pieces
from perfscope.dataframes.source import Source
from perfscope.structures import dataclass


class RowKind(IntEnum):
    """What an interval is; of two with equal times the smaller kind is the outer one."""

    STEP = 0
    PHASE = 1
    SAMPLED_PHASE = 2
    BACKGROUND = 3
    OPERATION = 4


@dataclass(frozen=True)
class Rows:
    """Intervals: their times, and where each stands in the table of its kind."""

    t0: Ints
    t1: Ints
    tid: Ints
    kind: Ints
    place: Ints

    def of_thread(self, tid: int) -> "Rows":
        """Those of one thread, outer ones before inner ones."""
        mine = np.flatnonzero(self.tid == tid)
        order = np.lexsort((self.kind[mine], -self.t1[mine], self.t0[mine]))
        return self.at(mine[order])

    @property
    def is_call(self) -> Bools:
        """Which are operations."""
        calls: Bools = np.isin(self.kind, (RowKind.BACKGROUND, RowKind.OPERATION))
        return calls

    def first_lanes(self) -> Ints:
        """Where the search for a lane begins: beyond the first for what cuts an operation in two.

        The rows are those of one thread, in order.
        """
        calls = self.at(np.flatnonzero(self.is_call))
        if not len(calls):
            return np.zeros(len(self), np.int64)
        ends = np.maximum.accumulate(calls.t1)
        cut = np.zeros(len(self), np.bool_)
        for moment, sign in ((self.t0, 1), (self.t1, -1)):
            place = np.searchsorted(calls.t0, moment, side="left") - 1
            inside = (place >= 0) & (ends[np.maximum(place, 0)] > moment)
            begin, end = calls.t0[np.maximum(place, 0)], ends[np.maximum(place, 0)]
            cut |= inside & ((self.t1 > end) if sign > 0 else (self.t0 < begin))
        return np.where(self.is_call, 0, cut).astype(np.int64)

    def at(self, rows: Ints | slice) -> "Rows":
        """Some of them."""
        return Rows(self.t0[rows], self.t1[rows], self.tid[rows], self.kind[rows], self.place[rows])

    def __len__(self) -> int:
        return len(self.t0)


def rank_rows(source: Source, position: int) -> Rows:
    """The intervals of the rank at a position of `Trace.ranks`."""
    rank = source.trace.ranks[position]
    start, end, _ = source.prepared.parts[position].samples.phase_rows
    main = rank.main_tid
    parts = [
        _part(rank.steps["t0"], rank.steps["t1"], main, RowKind.STEP),
        _part(rank.phases["t0"], rank.phases["t1"], rank.phases["tid"], RowKind.PHASE),
        _part(start, end, main, RowKind.SAMPLED_PHASE),
        _part(
            rank.background["t0"], rank.background["t1"], rank.background["tid"], RowKind.BACKGROUND
        ),
        _part(
            rank.operations["t0"], rank.operations["t1"], rank.operations["tid"], RowKind.OPERATION
        ),
    ]
    return Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _part(
    t0: npt.NDArray[np.integer],
    t1: npt.NDArray[np.integer],
    tid: npt.NDArray[np.integer] | int,
    kind: RowKind,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    length = len(t0)
    start = t0.astype(np.int64)
    return (
        start,
        np.maximum(t1.astype(np.int64), start),
        np.broadcast_to(np.asarray(tid, np.int64), (length,)),
        np.full(length, int(kind), np.int64),
        np.arange(length, dtype=np.int64),
    )


class Lanes:
    """Deals the intervals of a thread, in order, to lanes in which they nest."""

    def __init__(self) -> None:
        self._open: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._open)

    def lane(self, start: int, end: int, *, first: int = 0) -> int:
        """The lane of the next interval, from the lane `first` on."""
        while len(self._open) < first:
            self._open.append([])
        for number in range(first, len(self._open)):
            stack = self._open[number]
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or stack[-1] >= end:
                stack.append(end)
                return number
        self._open.append([end])
        return len(self._open) - 1


def nested(rows: Rows) -> Iterator[tuple[Rows, list[int]]]:
    """The intervals of one thread in order, in blocks, with the lane of each."""
    lanes, firsts = Lanes(), rows.first_lanes()
    for part in pieces(len(rows)):
        block = rows.at(part)
        columns = (block.t0.tolist(), block.t1.tolist(), firsts[part].tolist())
        yield (
            block,
            [lanes.lane(t0, t1, first=first) for t0, t1, first in zip(*columns, strict=True)],
        )


def thread_names(source: Source, position: int, rows: Rows) -> dict[int, str]:
    """Every thread of a rank by number, the main one first, with a name for people."""
    rank = source.trace.ranks[position]
    told = {thread.tid: thread.name for thread in rank.threads}
    background = set(np.unique(rank.background["tid"]).tolist())
    stacks = np.unique(rank.stacks["tid"]).tolist()
    every = [rank.main_tid, *sorted({*told, *np.unique(rows.tid).tolist(), *stacks})]
    names = {}
    for tid in dict.fromkeys(every):
        role = "main" if tid == rank.main_tid else "Horovod" if tid in background else ""
        words = [word for word in (role, told.get(tid, "") or ("" if role else "thread")) if word]
        names[tid] = " ".join(dict.fromkeys(words))
    return names
