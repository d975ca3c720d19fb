"""What a run becomes by edits, and what it shares with another."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.replay.edits import Levelable
from perfscope.replay.model import Edit
from perfscope.replay.program import Work
from perfscope.structures import dataclass


@dataclass
class Done:
    """Edits that others are asked about beyond, and what the run becomes by them."""

    edits: tuple[Edit, ...]
    work: Work
    levelable: Levelable
    run: Edited | None = None  # once somebody asked for it


@dataclass(frozen=True)
class Edited:
    """Lengths of the segments of an edited run, which begin with these of the unedited one.

    `busiest_ns` is what its busiest rank works: no run of these ranks is shorter.
    """

    lengths: Floats
    first: Ints
    drops_queues: bool = False
    busiest_ns: float = 0.0

    def by(self, shared: Ints) -> Floats:
        """Lengths between the beginnings of segments that two runs share."""
        if len(shared) == len(self.first):
            return self.lengths
        places = np.searchsorted(self.first, shared)
        return np.asarray(np.add.reduceat(self.lengths, places))


def shared_by(one: Ints, other: Ints) -> Ints:
    """The numbers that are in both, in order; both are in order, and mostly the same."""
    if np.array_equal(one, other):
        return one
    is_of_one = np.zeros(max(one.max(initial=-1), other.max(initial=-1)) + 1, np.bool_)
    is_of_one[one] = True
    return other[is_of_one[other]]
