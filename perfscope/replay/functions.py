"""The user's functions that the pieces of a program's work were seen in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from perfscope.metrics.results import Results

Ints = npt.NDArray[np.int64]

Function = tuple[str, str]
"""Name and file."""


@dataclass(frozen=True)
class Functions:
    """What functions there are, and in which each piece of work was, by the stack samples."""

    names: tuple[Function, ...] = ()
    of_piece: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """Index in `names`, -1 unknown; shape (pieces,), or empty where no sample tells."""

    @classmethod
    def of(cls, results: Results, stack: Ints) -> Functions:
        """Those of pieces of work, by the index in Trace.stacks of what ran in each."""
        labels, frames = results.labels, results.trace.frames
        if labels is None or not len(labels.user_frame):
            return cls((), np.full(len(stack), -1, np.int64))
        known: dict[Function, int] = {}
        of_frame = np.array(
            [known.setdefault((frame.function, frame.file), len(known)) for frame in frames],
            np.int64,
        )
        frame = labels.user_frame[np.maximum(stack, 0)]
        return cls(tuple(known), np.where(stack >= 0, of_frame[frame], -1))

    def is_of(self, function: Function, pieces: int) -> npt.NDArray[np.bool_]:
        """Which of so many pieces are of a function; those that an edit added are of none."""
        result = np.zeros(pieces, np.bool_)
        if function in self.names:
            result[: len(self.of_piece)] = self.of_piece == self.names.index(function)
        return result
