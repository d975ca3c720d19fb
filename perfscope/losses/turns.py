"""How much of each step goes by while even the rank with most to do waits: ranks take turns."""

from __future__ import annotations

import math

import numpy as np

from perfscope.arrays import Floats, taken
from perfscope.engine import engine
from perfscope.judging import MEDIAN_ERROR
from perfscope.replay.program import Program, Work
from perfscope.replay.steps import Steps
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Turns:
    """Nanoseconds by step, shape (steps,)."""

    idle_ns: Floats  # by which a step is longer than its busiest rank works and moves data
    moved_ns: Floats  # in which it moves data that could be moved meanwhile, no more than is idle
    waiting_ns: Floats  # that all ranks together are not busy
    ranks: int

    @classmethod
    def of(cls, program: Program, work: Work, steps: Steps) -> Turns:
        """Those of a run with some work."""
        return cls._of(program, program.gaps_ns(work), program.transfer_ns, steps)

    @classmethod
    def usual(cls, program: Program, work: Work, steps: Steps) -> tuple[Turns, float]:
        """Those of steps in which all that a rank does takes as long as in the median step.

        Of what holds up now this rank and now that one, as a busy machine does, nothing is left.
        Data moves in no time: a rank that lacks a CPU inside of a call looks as if data moved.

        Returns:
            The turns, and the standard error of how long such a step takes in nanoseconds, from
            those of its medians: ranks that do the same for as long by medians of few or unsteady
            steps seem to take turns.
        """
        alike, count = engine.like_rows(program.row_rank, steps.of_row, program.row_op, steps.count)
        sizes, medians, off = engine.medians(program.gaps_ns(work), alike, count)
        errors = (MEDIAN_ERROR * off) ** 2 / sizes
        squared = float(taken(errors, alike).sum() / steps.count)
        gap = taken(medians, alike)
        del alike  # a long run has many rows
        return cls._of(program, gap, np.zeros(len(gap)), steps), math.sqrt(squared)

    @classmethod
    def _of(cls, program: Program, gap: Floats, transfer: Floats, steps: Steps) -> Turns:
        ranks, units = len(program.ranks), steps.of_row
        ends = program.engine.last_arrivals(gap, transfer, units, steps.count)
        lengths = np.diff(np.maximum.accumulate(ends), prepend=0.0)
        sums = engine.sums_by_unit(
            gap, transfer, units, program.row_rank, units=steps.count, ranks=ranks
        ).reshape(steps.count, ranks, 2)
        busy, moving = sums[..., 0], sums[..., 1]
        idle = np.maximum(lengths - busy.max(axis=1), 0.0)
        moved = np.take_along_axis(moving, busy.argmax(axis=1)[:, None], axis=1)[:, 0]
        waiting = np.maximum(lengths[:, None] - busy, 0.0).sum(axis=1)
        return cls(idle, np.minimum(moved, idle), waiting, ranks)

    @property
    def share(self) -> Floats:
        """Of the waiting in each step: what remains of it where all waited like the busiest."""
        shared = self.ranks * self.idle_ns
        whole = np.maximum(self.waiting_ns, shared)
        return np.divide(shared, whole, out=np.zeros(len(whole)), where=whole > 0)
