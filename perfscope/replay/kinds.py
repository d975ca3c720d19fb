"""Which stretches between collectives are alike, so that their work can be compared."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.matching.pool import Pool, dense
from perfscope.matching.rendezvous import size_classes


def call_kinds(pool: Pool, rows: npt.NDArray[np.integer]) -> Ints:
    """A number for each call, equal where operation, communicator and size class are."""
    size_class = size_classes(pool.sent.take(rows))
    return dense(pool.op.take(rows).astype(np.int64), pool.comm.take(rows), size_class)


def segment_kinds(kind: Ints, enter: Ints, step_starts: Ints) -> Ints:
    """A number for each segment, equal where both its collectives and its place in the step are.

    Args:
        kind: of the collectives that bound the segments, shape (segments + 1,).
        enter: when a rank entered them, shape (segments + 1,).
        step_starts: when its steps began, in order; none where no steps are known.
    """
    step = np.searchsorted(step_starts, enter, side="right")
    first = np.flatnonzero(np.diff(step, prepend=-1))
    place = np.arange(len(step)) - np.repeat(first, np.diff(np.append(first, len(step))))
    if not len(step_starts):
        place[:] = 0
    return dense(kind[:-1], kind[1:], place[1:])


def segment_steps(enter: Ints, step_starts: Ints) -> Ints | None:
    """The number of the step in which each segment ends; None where no steps are known.

    What follows the last collective counts as a step of its own.

    Args:
        enter: when a rank entered the collectives that bound the segments, shape (segments + 1,).
        step_starts: when its steps began, in order.
    """
    if not len(step_starts):
        return None
    result: Ints = np.searchsorted(step_starts, enter[1:], side="right")
    result[-1] += 1
    return result
