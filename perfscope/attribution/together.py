"""Stretches of ranks without communication and their stack samples, of many ranks in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Int32s, Ints, joined, median
from perfscope.engine import engine
from perfscope.matching.intervals import Layer, Times
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table

if TYPE_CHECKING:
    from perfscope._core import CallColumns

DEFAULT_PERIOD_NS = 100_000_000
REACH_PERIODS = 1.5
"""A sample speaks for moments outside its own gap up to this many sampling periods away.

Of samples that are closer than `DEFAULT_PERIOD_NS` none says less for that.
"""


@dataclass(frozen=True)
class Gaps:
    """Stretches of a rank's main location without communication, cut where a marked phase changes.

    `kind` is equal for gaps between the same operations, in the same marked phase, of similar
    length; of a rank without samples, which ask for it, it is 0.
    """

    start: Times
    end: Times
    kind: Int32s
    blocked: npt.NDArray[
        np.bool_
    ]  # inside a marked phase: the phase is known, the samples tell functions only


@dataclass(frozen=True)
class Asked:
    """A rank of which only the main location counts.

    `blocking`: marked phases (NOTHING where there is none) inside which samples name no phase.
    `has_training`: training work is marked, so that samples need not find it.
    """

    rank: Rank
    blocking: Layer
    has_training: bool

    @property
    def first_batch_ns(self) -> int:
        """When the first batch was asked for, where that and steps are marked; else before all.

        A step that begins before any mark has a batch of its own, which nobody marks.
        """
        rows, steps = self.rank.phases, self.rank.steps["t0"]
        own = (rows["kind"] == PhaseKind.INPUT) & (rows["tid"] == self.rank.main_tid)
        if not len(steps) or not np.any(own):
            return self.rank.start_ns
        return min(int(rows["t0"][own].min()), int(steps.min()))


@dataclass(frozen=True)
class Samples:
    """Stack samples of the main locations of ranks, one rank after the other.

    By rank are told where its samples begin in the tables, and from which on they say something of
    what comes after `began`; and how far the samples speak for moments outside their gaps, in ns.
    """

    times: Times
    stacks: Ints
    first: Ints  # shape (ranks + 1,)
    valid: Ints
    began: Times
    reach: Ints


@dataclass(frozen=True)
class JoinedRanks:
    """Ranks with their times one behind the other: rank r's are `shift[r]` later than they are."""

    gaps: Gaps
    first: Ints  # gap of each rank, and the end; shape (ranks + 1,)
    samples: Samples
    shift: Times
    begin: Times  # of each rank, shifted
    has_training: Bools  # by gap
    first_batch: Times  # by gap: before it, what seems to be input sets its rank up

    @classmethod
    def of(
        cls, every: Sequence[Asked], gaps: Sequence[Gaps], stacks: Sequence[Table]
    ) -> JoinedRanks:
        """The tables of ranks that have samples and gaps."""
        ranks = [one.rank for one in every]
        began = [r.start_ns if r.init_exit_ns is None else r.init_exit_ns for r in ranks]
        times = [rows["t"].astype(np.int64) for rows in stacks]
        ends = np.array(
            [
                (min(own.start[0], at[0], moment), max(own.end[-1], at[-1], moment))
                for own, at, moment in zip(gaps, times, began, strict=True)
            ],
            np.int64,
        )
        lengths = ends[:, 1] - ends[:, 0] + 1
        begin = np.cumsum(lengths) - lengths if len(ranks) > 1 else ends[:, 0]
        shift = begin - ends[:, 0]
        reach = [round(REACH_PERIODS * max(period_ns(at), DEFAULT_PERIOD_NS)) for at in times]
        valid = [int(np.searchsorted(at, moment)) for at, moment in zip(times, began, strict=True)]
        first, sizes = _starts(times), [len(own.start) for own in gaps]
        return cls(
            _one_table(gaps, np.repeat(shift, sizes)),
            _starts([own.start for own in gaps]),
            Samples(
                joined(times) + np.repeat(shift, np.diff(first)),
                joined([rows["stack"].astype(np.int64) for rows in stacks]),
                first,
                first[:-1] + valid,
                np.array(began, np.int64) + shift,
                np.array(reach, np.int64),
            ),
            shift,
            begin,
            np.repeat([one.has_training for one in every], sizes),
            np.repeat(shift + np.array([one.first_batch_ns for one in every], np.int64), sizes),
        )

    def ranks_at(self, moments: Times) -> Ints:
        """Of which ranks moments are."""
        return np.searchsorted(self.begin, moments, side="right") - 1

    def ranks_of(self, gaps: Ints) -> Ints:
        """Of which ranks gaps are."""
        return np.searchsorted(self.first, gaps, side="right") - 1

    def layers(self, layer: Layer) -> Iterator[Layer]:
        """The layer of each rank, of one of all."""
        parts = self.apart(layer.starts, layer.starts, layer.values, times=1)
        return (Layer(*part) for part in parts)

    def apart(self, at: Times, *columns: Ints, times: int) -> Iterator[tuple[Ints, ...]]:
        """The rows of each rank, which lie at some moments; the first columns are times."""
        behind = np.searchsorted(at, self.begin[1:])
        back = np.repeat(self.shift, np.diff(behind, prepend=0, append=len(at)))
        own = [column - back if place < times else column for place, column in enumerate(columns)]
        return zip(*(np.split(column, behind) for column in own), strict=True)


def _starts(parts: Sequence[Ints]) -> Ints:
    """Where each of some parts begins in a table of all, and its end."""
    return np.cumsum([0, *(len(part) for part in parts)])


def _one_table(every: Sequence[Gaps], shift: Times) -> Gaps:
    """The gaps of ranks, one rank's behind another's; each rank has kinds of its own."""
    if len(every) == 1:
        return every[0]
    spans = np.cumsum([0, *(int(own.kind.max()) + 1 for own in every[:-1])])
    return Gaps(
        np.concatenate([own.start for own in every]) + shift,
        np.concatenate([own.end for own in every]) + shift,
        np.concatenate([own.kind + span for own, span in zip(every, spans, strict=True)]),
        np.concatenate([own.blocked for own in every]),
    )


def call_columns(operations: Table) -> CallColumns:
    """The columns by which time between calls is told apart, as the engine takes them."""
    names = ("t0", "t1", "op", "tid", "comm", "sent", "received")
    enter, leave, op, tid, comm, sent, received = map(
        np.ascontiguousarray, (operations[name] for name in names)
    )
    return enter, leave, op, tid, comm, sent, received


def gaps_of(rank: Rank, blocking: Layer) -> Gaps:
    """The gaps of a rank, cut where the layer of its marked phases changes."""
    columns = _columns(rank, blocking)
    start, end, kind, blocked = engine.free_time(*columns, tells_kinds=bool(len(rank.stacks)))
    return Gaps(start, end, kind, blocked.astype(np.bool_))


def longest_gaps(
    rank: Rank, blocking: Layer, after: Times, until: Times
) -> tuple[Ints, Times, Times]:
    """The longest of these gaps that ends behind `after` and begins before `until`, of each two.

    Its place, -1 where there is none, its start and its end. Of a long rank all would take much
    room.
    """
    return engine.longest_free(*_columns(rank, blocking), after, until)


def _columns(rank: Rank, blocking: Layer) -> tuple[CallColumns, int, int, int, tuple[Times, Times]]:
    """The calls, main thread, life and marked phases of a rank, as the engine takes them."""
    calls = call_columns(rank.operations)
    return calls, rank.main_tid, rank.start_ns, rank.end_ns, (blocking.starts, blocking.values)


def period_ns(times: Times) -> int:
    """The usual time between two samples."""
    steps = np.diff(times)
    steps = steps[steps > 0]
    return int(median(steps)) if len(steps) >= 3 else DEFAULT_PERIOD_NS
