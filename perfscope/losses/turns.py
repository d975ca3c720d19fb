"""How much of each step goes by while even the rank with most to do waits: ranks take turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfscope.replay.program import Floats, Program, Work
    from perfscope.replay.steps import Steps


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
        """Those of a run with some work.

        Raises:
            ImportError: the trace engine is not built.
        """
        ranks, gap = len(program.ranks), program.gaps_ns(work)
        arrival, _, _ = program.engine.times(gap, program.transfer_ns)
        ends = np.zeros(steps.count)
        np.maximum.at(ends, steps.of_row, arrival)
        lengths = np.diff(np.maximum.accumulate(ends), prepend=0.0)
        cell = steps.of_row * ranks + program.row_rank
        sums = np.bincount(cell, gap + program.transfer_ns, minlength=steps.count * ranks)
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
