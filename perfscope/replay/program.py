"""A run as rows: what each rank did before each call, and how long that itself took.

A row is one call of one rank, with the work before it. Rows of a rank are contiguous and in program
order; the first is its start and the last its end, so the predecessor of row r is row r - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Int32s, Ints, SmallCodes
from perfscope.engine import engine as compiled
from perfscope.metrics.host.cpu_delay import CpuDelay
from perfscope.packed import PackedTimes, Stretches
from perfscope.replay.functions import Functions
from perfscope.replay.occurrences import Marks
from perfscope.structures import dataclass

# A long run has many rows and pieces of work: columns take no more room than they need.
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Work:
    """Pieces of local work, each before one row; times in nanoseconds."""

    row: Int32s
    account: Codes  # index in Account
    ns: Floats


@dataclass(frozen=True)
class Fixed:
    """A rank's communication alone, before some rows: no edit changes it. Rows ascend."""

    row: Int32s
    ns: Floats

    @classmethod
    def of(cls, ns: Floats) -> Fixed:
        """Of what stands before each row, mostly nothing."""
        row = np.flatnonzero(ns)
        return cls(row.astype(np.int32), ns[row])


NOTHING_FIXED = Fixed.of(np.empty(0))


@dataclass(frozen=True)
class Needs:
    """For whom rows wait, in meetings that are no cuts and in messages.

    Row r needs what stands in `needs[need_starts[r]:need_starts[r + 1]]`: the arrival of a row (>=
    0), or of all members of a hub (~hub). Hub h has `hub_rows[hub_starts[h]:hub_starts[h + 1]]`,
    and the members of the hub before it where `hub_parent[h]` is h - 1 and not -1.
    """

    hub_starts: Ints
    hub_rows: Ints
    hub_parent: Ints
    need_starts: Int32s
    needs: Int32s

    @classmethod
    def none(cls, rows: int) -> Needs:
        """Those of a program in which all calls are cuts."""
        empty, nobody = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(np.zeros(1, np.int64), empty, empty, np.zeros(rows + 1, np.int32), nobody)

    def engine(
        self,
        cut_rows: Ints,
        threads: int = 0,
        *,
        is_checked: bool = True,
        keeps_order: bool = True,
    ) -> compiled.Replay:
        """The compiled replay of rows that need this.

        Args:
            cut_rows: as of a program, shape (segments + 1, ranks).
            threads: that replay at most, 0 one a core; the result does not depend on it.
            is_checked: whether that is looked for now, and not by the first who asks for times.
            keeps_order: whether an order of the rows is kept for whoever asks next.

        Raises:
            ValueError: the ranks wait for each other in a circle.
        """
        return compiled.Replay(
            ranks=cut_rows.shape[1],
            cut_rows=np.ascontiguousarray(cut_rows, np.int64).ravel(),
            hub_starts=self.hub_starts,
            hub_rows=self.hub_rows,
            hub_parent=self.hub_parent,
            need_starts=self.need_starts,
            needs=self.needs,
            threads=threads,
            is_checked=is_checked,
            keeps_order=keeps_order,
        )


@dataclass(frozen=True)
class Joined:
    """A program of the same rows with more cuts, and which of these are left."""

    program: Program
    is_kept: Bools  # shape (segments + 1,)


@dataclass(frozen=True)
class Program:
    """The run between two instants as a (max,+) system.

    A cut is a collective that no rank leaves before all have arrived. `cut_rows[s]` and `cut_rows[s
    + 1]` bound segment s on each rank, shape (segments + 1, ranks); the first holds the starts and
    the last the ends. Segments do not depend on each other: their lengths, each from the last
    arrival at its first cut to the last arrival at its second, add up to the run's.
    """

    ranks: tuple[int, ...]
    row_rank: SmallCodes  # column of the row's rank, shape (rows,)
    row_op: SmallCodes  # operation code, -1 of starts and ends, shape (rows,)
    segment_kind: Ints  # segments of one kind lie at the same place of a step, shape (segments,)
    work: Work
    phase: SmallCodes  # of each piece of work: index in the phase ids, -1 none
    stack: SmallCodes  # of each piece of work: index in Trace.stacks, -1 unknown
    fixed: Fixed
    transfer_ns: Floats  # of each row: exit - need, shape (rows,)
    cut_rows: Ints
    needs: Needs
    waits_at_end: Bools
    """Ranks that wait in their finalization for the last one to come, shape (ranks,)."""
    phase_ids: tuple[str, ...] = ()
    """What `phase` holds indices of."""
    begin_ns: PackedTimes | None = None
    """When each piece of work began in the recorded run, shape (pieces,)."""
    pool_row: Stretches | None = None
    """The row of the pool of all operations that each row is, -1 none, shape (rows,)."""
    segment_step: Ints | None = None
    """The step in which each segment ends, in order; None where no steps are known."""
    marks: Marks | None = None
    """When the marked phases began and ended in the recorded run."""
    functions: Functions = field(default_factory=Functions)
    """In which function of the user's each piece of work was."""
    find_delays: Callable[[], tuple[CpuDelay, ...]] = tuple
    """Tells when ranks waited for CPUs; nothing where that is not known of all."""
    is_asked_once: bool = False
    """Whether it is replayed a single time: the order of its rows is not kept for another."""
    joined_of: Joined | None = None
    """What it was before cuts were left out, whose order of the rows is mostly its own, too."""

    @property
    def segment_count(self) -> int:
        """Number of segments that replay independently."""
        return int(self.cut_rows.shape[0]) - 1

    @property
    def row_count(self) -> int:
        """Number of rows of all ranks."""
        return int(self.row_rank.shape[0])

    @property
    def row_segment(self) -> Int32s:
        """Segment of each row, shape (rows,); made anew for whoever asks."""
        return compiled.row_segments(self.cuts, self.cut_rows.shape[1], self.row_count)

    @property
    def cuts(self) -> Ints:
        """The cut rows as the engine takes them, one cut behind the other."""
        return np.ascontiguousarray(self.cut_rows, np.int64).ravel()

    @cached_property
    def delays(self) -> tuple[CpuDelay, ...]:
        """When ranks waited for CPUs; nothing where that is not known of all."""
        return self.find_delays()

    @cached_property
    def waited_ns(self) -> Floats:
        """What each piece of work held of waiting for a CPU, shape (pieces,); 0 where unknown."""
        found = np.zeros(len(self.work.ns))
        if self.begin_ns is not None and self.delays:
            known = len(self.begin_ns)
            column = self.row_rank[self.work.row[:known]]
            for place, delay in enumerate(self.delays):
                mine = np.flatnonzero(column == place)
                begin = self.begin_ns.at(mine)
                found[mine] = delay.between(begin, begin + self.work.ns[mine])
        return np.minimum(found, self.work.ns)

    @property
    def has_only_cuts(self) -> bool:
        """Whether all calls are meetings of all ranks."""
        return self.cut_rows.size == self.row_count

    @cached_property
    def engine(self) -> compiled.Replay:
        """The compiled replay of this program.

        The first who asks for times gets a ValueError if the ranks wait for each other in a circle.
        """
        return self.needs.engine(
            self.cut_rows, is_checked=False, keeps_order=not self.is_asked_once
        )

    def gaps_ns(self, work: Work) -> Floats:
        """Nanoseconds before each row, shape (rows,)."""
        return compiled.gaps(work.row, work.ns, self.fixed.row, self.fixed.ns, self.row_count)

    def before_rows(self, work: Work, ns: Floats) -> Floats:
        """What stands at pieces of work, added up by row, shape (rows,)."""
        none = NOTHING_FIXED
        return compiled.gaps(work.row, ns, none.row, none.ns, self.row_count)

    @cached_property
    def measured_lengths_ns(self) -> Floats:
        """Length of each segment of the unedited run, shape (segments,); not to be written to."""
        found = segment_lengths(self, self.work, self.transfer_ns)
        found.setflags(write=False)
        return found

    @cached_property
    def measured_busiest_ns(self) -> float:
        """What the busiest rank of the unedited run works."""
        return _busiest_ns(self, self.work)


def segment_lengths(program: Program, work: Work, transfer_ns: Floats) -> Floats:
    """Length of each segment in nanoseconds, shape (segments,), for given work and transfer."""
    columns = (*_columns(program, work), transfer_ns)
    if (joined := program.joined_of) is not None:
        is_kept = joined.is_kept.view(np.uint8)
        found = joined.program.engine.joined_lengths(*columns, is_kept)
        if found is not None:
            return found
    return program.engine.lengths_of_work(*columns)


def lengths_of_networks(program: Program, divisors: Sequence[float]) -> Floats:
    """The same of the unedited work where all transfer is divided, shape (divisors, segments)."""
    columns = (*_columns(program, program.work), program.transfer_ns)
    found = program.engine.lengths_of_networks(*columns, np.array(divisors, np.float64))
    return found.reshape(len(divisors), program.segment_count)


def _columns(program: Program, work: Work) -> tuple[Int32s, Floats, Int32s, Floats]:
    """What stands before rows, as the engine takes it."""
    return work.row, work.ns, program.fixed.row, program.fixed.ns


def busiest_ns(program: Program, work: Work) -> float:
    """Nanoseconds that the rank with most work has of it: no run with that work is shorter."""
    return program.measured_busiest_ns if work is program.work else _busiest_ns(program, work)


def _busiest_ns(program: Program, work: Work) -> float:
    by_rank = compiled.work_by_rank(work.row, work.ns, program.row_rank, ranks=len(program.ranks))
    return float(by_rank.max(initial=0.0))
