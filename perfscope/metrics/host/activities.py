"""Seconds by activity, phase and place in the program, inside and outside training steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_timeline import ActivityTable, hears_collections
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.library_calls import seen_in
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import is_user_file
from perfscope.attribution.timeline import some_at_once
from perfscope.matching.intervals import NOTHING, Times, disjoint_layer, union
from perfscope.matching.pool import dense
from perfscope.schema.enums import Account, Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table


@dataclass(frozen=True)
class ActivityRow:
    """What one rank spent on one activity at one place of the program."""

    rank: int
    activity: Activity  # what was done
    phase: str  # id of the innermost phase, "" none
    where: Frame | None  # the user's innermost function and its line; None where no sample tells it
    calls: str  # what it calls of a library or of C, by the name that people know, "" none
    is_in_step: bool  # whether it was inside a training step
    ns: int  # how long, outside communication


@dataclass(frozen=True)
class GarbageTime:
    """What Python's garbage collector took on one rank in the focus.

    Its time is None where only a part of the collections was listened to: that of so short ones is
    mostly that of listening, and tells nothing of the others.
    """

    rank: int
    count: int | None  # of the whole life
    long_ns: int | None  # collections with a time of their own
    shorter_ns: int | None  # of others


@dataclass(frozen=True)
class Activities:
    """What the ranks were doing in the focus outside communication."""

    rows: tuple[ActivityRow, ...] = ()  # by rank, most time first
    garbage: tuple[GarbageTime, ...] = ()  # of each rank that was listened to
    untold_ns: int = 0  # time outside communication of which no sample speaks


def activities(prepared: Prepared) -> Activities:
    """The activities of all ranks in the focus."""
    trace = prepared.trace
    told = stack_activities(trace)
    spent = _Spent(prepared, _Leaves.of(trace.frames, trace.stacks))
    for positions, lines in some_at_once(prepared.timelines):
        ranks = [trace.ranks[position] for position in positions]
        spent.see(positions, ActivityTable.of(ranks, lines, told))
    garbage = [one for rank in trace.ranks if (one := _garbage(prepared, rank)) is not None]
    return Activities(tuple(spent.rows()), tuple(garbage), spent.untold_ns)


_Kind = tuple[int, int, int, int, bool]
"""Place of the rank, activity, phase, frame, and whether it was in a step; -1 none."""


@dataclass(frozen=True)
class _Pieces:
    """Time outside communication whose activity is known, shape (pieces,)."""

    rank: Ints  # place of the rank
    activity: Ints
    phase: Ints
    stack: Ints
    in_step: Ints
    ns: Ints


@dataclass
class _Spent:
    """What the ranks spent, as far as their timelines were looked at."""

    prepared: Prepared
    leaves: _Leaves
    ns: Counter[_Kind] = field(default_factory=Counter)
    calls: dict[_Kind, Counter[str]] = field(default_factory=dict)
    untold_ns: int = 0

    def see(self, positions: Sequence[int], found: ActivityTable) -> None:
        """Looks at timelines, or parts of them, of the ranks at these positions."""
        free = found.within(self.prepared.focus) & ~IS_COMMUNICATION.take(found.account)
        is_told = found.activity != NOTHING
        self.untold_ns += int((found.length * (free & ~is_told)).sum())
        here = np.flatnonzero(free & is_told)
        rank = found.rank[here]
        in_step = found.account[here] == INDEX[Account.TRAINING]
        edges = np.searchsorted(rank, np.arange(len(positions) + 1))
        for place, position in enumerate(positions):
            if len(steps := self.prepared.trace.ranks[position].steps):
                own = slice(edges[place], edges[place + 1])
                in_step[own] = _inside(steps, found.begin[here[own]])
        self._add(
            _Pieces(
                np.array(positions)[rank],
                found.activity[here].astype(np.int64),
                found.phase[here].astype(np.int64),
                found.stack[here].astype(np.int64),
                in_step.astype(np.int64),
                found.length[here],
            )
        )

    def _add(self, pieces: _Pieces) -> None:
        if not len(pieces.ns):
            return
        frame = _looked_up(self.prepared.labels.user_frame, pieces.stack)
        columns = (pieces.rank, pieces.activity, pieces.phase, frame, pieces.in_step)
        kind = dense(*columns)
        spent = np.zeros(int(kind.max()) + 1, np.int64)
        np.add.at(spent, kind, pieces.ns)
        first = np.unique(kind, return_index=True)[1]
        kinds = [
            (rank, activity, phase, frame, bool(in_step))
            for rank, activity, phase, frame, in_step in zip(
                *(column[first].tolist() for column in columns), strict=True
            )
        ]
        for number, ns in enumerate(spent.tolist()):
            self.ns[kinds[number]] += ns
        for number, name, ns in self.leaves.seen(kind, pieces.stack, pieces.ns):
            self.calls.setdefault(kinds[number], Counter())[name] += ns

    def rows(self) -> list[ActivityRow]:
        """One row of each kind, rank after rank, most time first."""
        trace, ids = self.prepared.trace, self.prepared.catalog.ids
        ordered = sorted(self.ns.items(), key=lambda item: (item[0][0], -item[1], item[0]))
        return [
            ActivityRow(
                rank=trace.ranks[position].number,
                activity=ACTIVITIES[activity],
                phase=ids[phase] if phase >= 0 else "",
                where=trace.frames[frame] if frame >= 0 else None,
                calls=_most(self.calls.get((position, activity, phase, frame, in_step))),
                is_in_step=in_step,
                ns=ns,
            )
            for (position, activity, phase, frame, in_step), ns in ordered
        ]


def _most(called: Counter[str] | None) -> str:
    return max(called.items(), key=lambda item: (item[1], item[0]))[0] if called else ""


def _inside(steps: Table, moments: Times) -> Bools:
    """Which moments lie in training steps."""
    starts, ends = union(steps["t0"].astype(np.int64), steps["t1"].astype(np.int64))
    layer = disjoint_layer(starts, ends, np.zeros(len(starts), np.int64))
    inside: Bools = layer.at(moments) != NOTHING
    return inside


def _looked_up(table: Ints, stacks: Ints) -> Ints:
    if not len(table):
        return np.full(len(stacks), NOTHING, np.int64)
    return np.where(stacks >= 0, table[np.maximum(stacks, 0)], NOTHING)


@dataclass(frozen=True)
class _Leaves:
    """What each stack calls that is not the user's own, which has no place among the names."""

    names: tuple[str, ...]
    place: Ints  # of each stack, -1 the user's own

    @classmethod
    def of(cls, frames: Sequence[Frame], stacks: Sequence[Sequence[int]]) -> _Leaves:
        """Those of some stacks."""
        known: dict[str, int] = {}
        place = np.full(len(stacks), -1, np.int64)
        for number, stack in enumerate(stacks):
            behind: list[Frame] = []
            for frame in (frames[one] for one in reversed(stack)):
                if is_user_file(frame.file):
                    break
                behind.append(frame)
            behind.reverse()
            is_whole = len(behind) == len(stack)  # none is of the program
            if name := behind[-1].function if behind and is_whole else seen_in(behind):
                place[number] = known.setdefault(name, len(known))
        return cls(tuple(known), place)

    def seen(self, kind: Ints, stacks: Ints, ns: Ints) -> Iterator[tuple[int, str, int]]:
        """By kind of row and leaf, how long it was seen there."""
        chosen = np.flatnonzero(_looked_up(self.place, stacks) >= 0)
        cell = kind[chosen] * len(self.names) + self.place[stacks[chosen]]
        cells, place = np.unique(cell, return_inverse=True)
        spent = np.zeros(len(cells), np.int64)
        np.add.at(spent, place, ns[chosen])
        for one, total in zip(cells.tolist(), spent.tolist(), strict=True):
            yield one // len(self.names), self.names[one % len(self.names)], total


def _garbage(prepared: Prepared, rank: Rank) -> GarbageTime | None:
    facts = rank.metadata.get("garbage_collector")
    told = facts if isinstance(facts, dict) else {}
    rows = rank.garbage_collections
    counts = told.get("collections")
    numbers = counts if isinstance(counts, list) else []
    known = bool(numbers) and all(isinstance(number, int) for number in numbers)
    count = sum(numbers) if known else None
    if not len(rows) and not told:
        return None
    if not hears_collections(rank):
        return GarbageTime(rank.number, count, None, None)
    focus = prepared.focus
    rows = rows[(rows["t0"] >= focus.start_ns) & (rows["t0"] < focus.end_ns)]
    return GarbageTime(
        rank=rank.number,
        count=count,
        long_ns=int((rows["t1"] - rows["t0"]).sum()),
        shorter_ns=int(rows["shorter_ns"].sum()),
    )
