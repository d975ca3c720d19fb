"""Which step of the run each row of its replay, and each piece of work, belongs to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfscope.arrays import Int32s, Ints
from perfscope.engine import engine
from perfscope.metrics.efficiency.steps import step_numbers
from perfscope.metrics.results import Results
from perfscope.packed import Stretches
from perfscope.replay.program import Program
from perfscope.search import places
from perfscope.structures import dataclass

MOST_CELLS = 1 << 22
"""Steps times ranks that are told apart: of a longer run neighboring steps are taken together."""


@dataclass(frozen=True)
class Steps:
    """The units of time over which a pattern is told: steps, or segments where none are known.

    Ranks between two meetings of all may be in different steps, as the stages of a pipeline are:
    each goes by its own. Where all meet, all are in the step of the first rank.
    """

    stretches: Stretches  # the unit of each row of the program
    count: int  # how many units there are
    numbers: Ints  # of the steps that begin the units, shape (count,); empty where none are known
    size: int  # steps or segments to a unit
    place_of_pieces: Callable[[Ints], Int32s]  # of some, ascending: steps or segments

    @property
    def of_row(self) -> Int32s:
        """The unit of each row of the program, shape (rows,); made anew for whoever asks."""
        return self.stretches.all()

    def of_pieces(self, pieces: Ints) -> Ints:
        """The unit in which some pieces of work began, which ascend; of all it would be long."""
        return self.place_of_pieces(pieces).astype(np.int64) // self.size

    @classmethod
    def of(cls, results: Results, program: Program) -> Steps:
        """Those of a run."""
        starts, numbers = _reference(results)
        if program.pool_row is None or not len(starts):
            numbers, whole = np.empty(0, np.int64), program.segment_count
            of_row, of_pieces = _by_row(program, program.row_segment)
        else:
            clocks = [
                _Clock.of(results, place, starts, numbers) for place in range(len(program.ranks))
            ]
            of_row, of_pieces = _places(results, program, clocks)
            whole = len(starts)
        size = max(1, -(-whole * len(program.ranks) // MOST_CELLS))
        if size > 1:
            of_row = of_row // np.int32(size)
        return cls(Stretches(of_row, step=0), -(-whole // size), numbers[::size], size, of_pieces)


@dataclass(frozen=True)
class _Clock:
    """When the steps of a rank began, and the place of each among those of the run."""

    starts_ns: Ints
    places: Ints

    @classmethod
    def of(cls, results: Results, rank: int, starts_ns: Ints, numbers: Ints) -> _Clock:
        """That of a rank; the run's own where the rank does not tell the same steps."""
        table = results.trace.ranks[rank].steps
        table = table[np.argsort(table["t0"], kind="stable")]
        own = step_numbers(table)
        place = np.searchsorted(numbers, own)
        known = np.isin(own, numbers)
        if not known.any() or (np.diff(numbers) <= 0).any() or (np.diff(place[known]) < 0).any():
            return cls(starts_ns, np.arange(len(starts_ns)))
        return cls(table["t0"][known].astype(np.int64), place[known])

    def at(self, moments_ns: Ints) -> Ints:
        """The place of the step in which moments lie, the first of what is before all."""
        found = places(self.starts_ns, moments_ns, "right") - 1
        return np.asarray(self.places[np.maximum(found, 0)])


def _reference(results: Results) -> tuple[Ints, Ints]:
    """When the steps of the run began, and their numbers: the first rank's, else who tells most."""
    if len(results.steps.starts_ns):
        return results.steps.starts_ns, results.steps.start_numbers
    most = max((results.focus.ending(rank.steps) for rank in results.trace.ranks), key=len)
    most = most[np.argsort(most["t0"], kind="stable")]
    return most["t0"].astype(np.int64), step_numbers(most)


_OfPieces = Callable[[Ints], Int32s]


def _by_row(program: Program, of_row: Int32s) -> tuple[Int32s, _OfPieces]:
    """The place of each row, and what tells that of pieces of work by their rows."""
    return of_row, lambda pieces: of_row[program.work.row[pieces]]


def _places(results: Results, program: Program, clocks: list[_Clock]) -> tuple[Int32s, _OfPieces]:
    """The place of the step of each row, and what tells that of pieces of work."""
    assert program.pool_row is not None
    calls, enter, focus = program.pool_row.all(), results.waits.pool.enter, results.focus
    met = program.cut_rows[:, 0]
    begin = np.full(len(met), focus.start_ns, np.int64)
    begin[calls[met] >= 0] = enter[calls[met][calls[met] >= 0]]
    begin[-1] = focus.end_ns
    cuts = np.maximum.accumulate(clocks[0].at(begin)).astype(np.int32)
    starts = np.append(program.cut_rows[0], program.row_count)  # rows of a rank lie together
    told = [(clock.starts_ns, clock.places) for clock in clocks]
    of_row = engine.units_of_calls(
        told, starts, program.row_segment, cuts, calls, enter, focus.start_ns
    )
    del calls, enter  # of a long run much
    of_row[program.cut_rows] = cuts[:, None]
    began = program.begin_ns
    if began is None:
        return _by_row(program, of_row)

    def of_pieces(pieces: Ints) -> Int32s:
        row, moments = program.work.row[pieces], began.at(pieces)
        edges = np.searchsorted(row, starts.astype(np.int32))
        return engine.units_of_moments(told, edges, program.row_segment, cuts, moments, row)

    return of_row, of_pieces
