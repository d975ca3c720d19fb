"""How much of each step goes by while even the rank with most to do waits: ranks take turns."""

from __future__ import annotations

import math

import numpy as np

from perfscope.matching.pool import dense
from perfscope.replay.program import Floats, Ints, Program, Work
from perfscope.replay.steps import Steps
from perfscope.structures import dataclass

_ERROR_OF_MEDIAN = 1.2533 * 1.4826
"""Standard error of a median over the median deviation, times the root of the count (normal)."""


@dataclass(frozen=True)
class Turns:
    """Nanoseconds by step, shape (steps,).

    Attributes:
        idle_ns: by which a step is longer than its busiest rank works and moves data.
        waiting_ns: that all ranks together are not busy.
    """

    idle_ns: Floats
    waiting_ns: Floats
    ranks: int

    @classmethod
    def of(cls, program: Program, work: Work, steps: Steps) -> Turns:
        """Those of a run with some work."""
        return cls._of(program, program.gaps_ns(work), program.transfer_ns, steps)

    @classmethod
    def usual(cls, program: Program, work: Work, steps: Steps) -> Turns:
        """Those of steps in which all that a rank does takes as long as in the median step.

        Of what holds up now this rank and now that one, as a busy machine does, nothing is left.
        """
        alike = _alike(program, steps)
        gap = _medians(program.gaps_ns(work), alike)
        return cls._of(program, gap, _medians(program.transfer_ns, alike), steps)

    @staticmethod
    def usual_error_ns(program: Program, work: Work, steps: Steps) -> float:
        """Standard error of how long such a step takes, from those of its medians.

        Ranks that do the same for as long by medians of few or unsteady steps seem to take turns.
        """
        alike = _alike(program, steps)
        parts = program.gaps_ns(work), program.transfer_ns
        return math.sqrt(sum(_squared_error(part, alike, steps.count) for part in parts))

    @classmethod
    def _of(cls, program: Program, gap: Floats, transfer: Floats, steps: Steps) -> Turns:
        ranks = len(program.ranks)
        ends = program.engine.last_arrivals(gap, transfer, steps.of_row, steps.count)
        lengths = np.diff(np.maximum.accumulate(ends), prepend=0.0)
        cell = steps.of_row * ranks + program.row_rank
        sums = np.bincount(cell, gap + transfer, minlength=steps.count * ranks)
        busy = sums.reshape(steps.count, ranks)
        return cls(
            np.maximum(lengths - busy.max(axis=1), 0.0),
            np.maximum(lengths[:, None] - busy, 0.0).sum(axis=1),
            ranks,
        )

    @property
    def share(self) -> Floats:
        """Of the waiting in each step: what remains of it where all waited like the busiest."""
        shared = self.ranks * self.idle_ns
        whole = np.maximum(self.waiting_ns, shared)
        return np.divide(shared, whole, out=np.zeros(len(whole)), where=whole > 0)


def _places_in_step(program: Program, steps: Steps) -> Ints:
    """How many rows of its rank and step come before each row, shape (rows,)."""
    cell = steps.of_row * len(program.ranks) + program.row_rank
    order = np.argsort(cell, kind="stable")
    begins = np.diff(cell[order], prepend=-1) != 0
    firsts = np.flatnonzero(begins)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - firsts[np.cumsum(begins) - 1]
    return place


def _alike(program: Program, steps: Steps) -> Ints:
    """A number for each row, the same where its rank does the same at the same place of a step."""
    return dense(program.row_rank, _places_in_step(program, steps), program.row_op)


def _squared_error(values: Floats, alike: Ints, steps: int) -> float:
    """Of the sum over a step of the medians of values that share a number: their squared error."""
    off = np.abs(values - _medians(values, alike))
    counts = np.bincount(alike)[alike]
    squared = (_ERROR_OF_MEDIAN * _medians(off, alike)) ** 2 / counts
    return float(squared.sum() / steps)


def _medians(values: Floats, alike: Ints) -> Floats:
    """The median of the values that share a number, for each of them."""
    order = np.argsort(values)
    numbers = alike[order]
    if int(alike.max(initial=0)) < 1 << 16:  # numpy counts such numbers instead of comparing them
        numbers = numbers.astype(np.uint16)
    order = order[np.argsort(numbers, kind="stable")]
    counts = np.bincount(alike)
    middle = np.cumsum(counts) - counts + (counts - 1) // 2
    found: Floats = values[order][middle][alike]
    return found
