"""What stack samples saw in the pieces of a program's work: function and activity."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, SmallCodes
from perfscope.attribution.activity_timeline import GARBAGE
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Function


@dataclass(frozen=True)
class Functions:
    """In which function each piece of work was, and what was done there that is no training."""

    names: tuple[Function, ...] = ()
    of_piece: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Index in `names`, -1 unknown; shape (pieces,), or empty where no sample tells."""
    activity: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Place in `tuple(Activity)`, -1 training or unknown; shaped alike."""

    @classmethod
    def of(
        cls,
        results: Results,
        stack: SmallCodes,
        account: npt.NDArray[np.uint8],
        collects: Bools,
    ) -> Functions:
        """Those of pieces of work.

        `stack` is the index in Trace.stacks of what ran in each piece, -1 unknown, and `account`
        that in Account. `collects` says where Python's garbage collector was heard.
        """
        labels, frames = results.labels, results.trace.frames
        if labels is None or not len(labels.user_frame):
            unknown = np.broadcast_to(np.int64(-1), len(stack))  # takes no memory
            found = collects & IS_TRAINING[account]
            return cls((), unknown, np.where(found, GARBAGE, -1) if found.any() else unknown)
        known: dict[Function, int] = {}
        of_frame = np.array(
            [known.setdefault(frame.key, len(known)) for frame in frames],
            np.int64,
        )
        frame = labels.user_frame[np.maximum(stack, 0)]
        activity = np.full(len(stack), -1, np.int64)
        if results.not_training is not None:
            is_training = IS_TRAINING[account] & (stack >= 0)
            activity[is_training] = results.not_training[stack[is_training]]
        activity[collects & IS_TRAINING[account]] = GARBAGE
        return cls(tuple(known), np.where(stack >= 0, of_frame[frame], -1), activity)

    def is_of(self, function: Function, pieces: int) -> Bools:
        """Which of so many pieces are of a function; those that an edit added are of none."""
        result = np.zeros(pieces, np.bool_)
        if function in self.names:
            result[: len(self.of_piece)] = self.of_piece == self.names.index(function)
        return result

    def shows(self, activity: Activity, pieces: int) -> Bools:
        """Which of so many pieces are of an activity that is no training."""
        result = np.zeros(pieces, np.bool_)
        result[: len(self.activity)] = self.activity == list(Activity).index(activity)
        return result
