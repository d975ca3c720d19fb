"""Whether ranks are late for a time as they do what others did before."""

from collections.abc import Collection
from math import sqrt, tanh

import numpy as np

from perfscope.arrays import Floats
from perfscope.engine import engine
from perfscope.judging import FEWEST_SAMPLES, MAIN, SURE
from perfscope.losses.patterns import FEWEST_UNITS
from perfscope.losses.waiting import Cells
from perfscope.replay.program import Program
from perfscope.replay.replay import Replay
from perfscope.replay.steps import Steps


def work_by_step(program: Program, steps: Steps) -> Floats:
    """How long each rank works in each step, in nanoseconds, shape (steps, ranks)."""
    gap = program.gaps_ns(program.work)
    ranks = len(program.ranks)
    sums = engine.sums_by_unit(
        gap, np.zeros_like(gap), steps.of_row, program.row_rank, units=steps.count, ranks=ranks
    )
    work: Floats = sums.reshape(steps.count, ranks, 2)[..., 0]
    return work


def shares_over_time(replay: Replay, numbers: Collection[int], parts: int) -> tuple[float, ...]:
    """Of all work what some ranks do in each part of the steps; none where it is not known."""
    program, charges = replay.program, replay.charges
    if program is None or charges is None:
        return ()
    work = work_by_step(program, charges.steps)
    own = np.array([rank in numbers for rank in program.ranks])
    found = [one for one in np.array_split(work, parts) if one.sum() > 0]
    return tuple(float(one[:, own].sum() / one.sum()) for one in found)


def shifts(replay: Replay) -> bool:
    """Whether what ranks wait for most is work that shifts to some of them from others."""
    program, charges = replay.program, replay.charges
    if program is None or charges is None:
        return False
    shape = charges.steps.count, len(program.ranks)
    cells = Cells(charges.unit, charges.rank, charges.cause, charges.ns)
    charged = cells.table(np.ones(len(cells.ns), np.bool_), shape)
    return is_shifting(charged, work_by_step(program, charges.steps))


def is_shifting(charged: Floats, work: Floats) -> bool:
    """Whether a loss comes of work that shifts to some ranks from others.

    A rank that is slower for a time does the same work, and the others do theirs as before. Where
    work shifts to it instead, what it does more of others do less of: it is as fast as they are,
    and is never done sooner than with work that is dealt out evenly.

    Stretches of the run are compared. What differs from step to step by chance does not shift, so
    one half of the steps of each stretch is held against the other half: the ranks that are late
    must do more in the same stretches by both, and the others less by as much.

    Args:
        charged: the loss by step and by the rank that causes it, shape (steps, ranks).
        work: how long ranks work, shape (steps, ranks).
    """
    caused = charged.sum(axis=0)
    late = caused > MAIN * caused.max(initial=0.0)
    if len(work) < FEWEST_UNITS * FEWEST_SAMPLES or late.all() or not late.any():
        return False
    own, others = work[:, late].mean(axis=1), work[:, ~late].mean(axis=1)
    (one, other), (_, rest) = _halves(own), _halves(others)
    if not (_goes_with(one, other) and _goes_with(one, -rest)):
        return False
    more = other - rest
    if float(more.min()) >= MAIN * float(more.max()):
        return False  # most of it is always there
    gained = float(np.cov(one, other)[0, 1]) * np.count_nonzero(late)
    lost = -float(np.cov(one, rest)[0, 1]) * np.count_nonzero(~late)
    return bool(lost > MAIN * gained)


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """The mean of every other step in each stretch of the run, and that of those between."""
    stretches = np.array_split(np.arange(len(values)), int(sqrt(len(values))))
    halves = [[values[one[side::2]].mean() for one in stretches] for side in (0, 1)]
    return np.array(halves[0]), np.array(halves[1])


def _goes_with(one: Floats, other: Floats) -> bool:
    """Whether two are large in the same stretches, beyond chance (Fisher's z)."""
    if not (one.std() > 0 and other.std() > 0):
        return False
    correlation = float(np.corrcoef(one, other)[0, 1])
    return bool(correlation > tanh(SURE / sqrt(len(one) - 3)))
