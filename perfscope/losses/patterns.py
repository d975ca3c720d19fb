"""In which steps a loss arises, and on whom: its pattern over the run."""

import numpy as np
import numpy.typing as npt

from perfscope.schema.enums import LossPattern

Floats = npt.NDArray[np.float64]

MOST_OF = 0.9
"""The share of a loss that has to lie in some steps for them to be called its steps."""

FEWEST_UNITS = 8
"""Of fewer steps nothing can be said about a pattern."""

FEW = 0.25
"""Share of the steps below which those that hold most of a loss are few."""

WINDOW = 0.8
"""Share of the run below which a stretch is a part of it."""

BY_TURNS = 0.25
"""Share of a loss in which even the rank with most to do in the step must wait."""

BY_THE_SAME = 0.75
"""Share of a loss that the same ranks, no more than half of all, must cause."""


def pattern_of(charged: Floats, turns: Floats) -> LossPattern | None:
    """The pattern of a loss; None where there is no loss, or there are too few steps to tell.

    Args:
        charged: the loss by step and by the rank that causes it, shape (steps, ranks).
        turns: of the waiting in each step, the share in which even the busiest rank waits, shape
            (steps,).
    """
    by_step = charged.sum(axis=1)
    whole = float(by_step.sum())
    steps = len(by_step)
    if whole <= 0 or steps < FEWEST_UNITS:
        return None
    own = _steps_of_most(by_step)
    if len(own) <= max(1, steps // 100):
        return LossPattern.ONCE
    first, last = _reach(by_step)
    stretch = last - first + 1
    is_part = stretch <= WINDOW * steps
    if is_part and 2 * len(own) >= stretch:
        return LossPattern.WINDOW
    if len(own) <= FEW * steps:
        return LossPattern.BURSTS
    if float(by_step @ turns) >= BY_TURNS * whole:
        return LossPattern.SERIAL
    return LossPattern.STATIC if _share_of_same(charged) >= BY_THE_SAME else LossPattern.VARYING


def _steps_of_most(by_step: Floats) -> npt.NDArray[np.int64]:
    """The fewest steps that hold most of a loss."""
    order = np.argsort(-by_step, kind="stable")
    reached = np.cumsum(by_step[order])
    count = int(np.searchsorted(reached, MOST_OF * reached[-1])) + 1
    return order[:count]


def _reach(by_step: Floats) -> tuple[int, int]:
    """The first and the last step of the middle of a loss, without a twentieth at each end."""
    reached = np.cumsum(by_step) / by_step.sum()
    margin = (1 - MOST_OF) / 2
    first = int(np.searchsorted(reached, margin, side="right"))
    last = int(np.searchsorted(reached, 1 - margin, side="left"))
    return first, min(last, len(by_step) - 1)


def _share_of_same(charged: Floats) -> float:
    """The share that the ranks cause that cause most of it, no more than half of all."""
    by_rank = np.sort(charged.sum(axis=0))[::-1]
    return float(by_rank[: max(1, len(by_rank) // 2)].sum() / by_rank.sum())
