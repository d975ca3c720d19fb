"""Which step of the run each segment of its replay ends in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from perfscope.metrics.results import Results
    from perfscope.replay.program import Program

Ints = npt.NDArray[np.int64]

MOST_CELLS = 1 << 22
"""Steps times ranks that are told apart: of a longer run neighboring steps are taken together."""


@dataclass(frozen=True)
class Steps:
    """The units of time over which a pattern is told: steps, or segments where none are known.

    Attributes:
        of_segment: the unit of each segment, shape (segments,).
        count: how many units there are.
        numbers: of the steps that begin the units, shape (count,); empty where none are known.
        size: steps or segments to a unit.
    """

    of_segment: Ints
    count: int
    numbers: Ints
    size: int

    @classmethod
    def of(cls, results: Results, program: Program) -> Steps:
        """Those of a run."""
        step, numbers = _of_segments(results, program)
        if not len(numbers):
            step = np.arange(program.segment_count)
        whole = int(step.max(initial=-1)) + 1
        size = max(1, -(-whole * len(program.ranks) // MOST_CELLS))
        return cls(step // size, -(-whole // size), numbers[::size], size)


def _of_segments(results: Results, program: Program) -> tuple[Ints, Ints]:
    """Place of the step in which each segment ends on the first rank, and the steps' numbers.

    Empty where the ranks meet more rarely than once a step.
    """
    starts, none = results.steps.starts_ns, np.empty(0, np.int64)
    if program.pool_row is None or not 0 < len(starts) <= program.segment_count:
        return none, none
    closing = program.pool_row[program.cut_rows[1:, 0]]
    enter = np.full(len(closing), results.focus.end_ns, np.int64)
    enter[closing >= 0] = results.waits.pool.enter[closing[closing >= 0]]
    step = np.searchsorted(starts, enter, side="right") - 1
    return np.maximum(step, 0), results.steps.start_numbers
