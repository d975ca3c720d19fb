"""In which function of the user's, and at which line, stacks were sampled."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.trace.model import Frame

if TYPE_CHECKING:
    from perfscope.losses.cause import Function
    from perfscope.metrics.results import Results

Ints = npt.NDArray[np.int64]


class Places:
    """The functions and lines of the user's that the stacks of a run tell."""

    def __init__(self, results: Results) -> None:
        frames, labels = results.trace.frames, results.labels
        known: dict[Function, int] = {}
        of_frame = [known.setdefault((one.function, one.file), len(known)) for one in frames]
        self._names = tuple(known)
        self._frame = np.zeros(0, np.int64)
        if labels is not None:
            self._frame = labels.user_frame.astype(np.int64)
        self._of_frame = np.array(of_frame, np.int64)
        self._frames = frames
        self._lines: dict[Function, Counter[int]] = {}
        for rank, timeline in zip(results.trace.ranks, results.timelines, strict=False):
            del rank
            self._add(timeline.stacks.astype(np.int64), timeline.lengths)

    def functions_of(self, stacks: Ints) -> Ints:
        """The function of each stack, -1 unknown."""
        if not len(self._frame):
            return np.full(len(stacks), -1, np.int64)
        found = self._of_frame[self._frame[np.maximum(stacks, 0)]]
        return np.where(stacks >= 0, found, -1)

    def name(self, function: int) -> Function | None:
        """Name and file of a function."""
        return self._names[function] if function >= 0 else None

    def frame(self, function: Function | None) -> Frame | None:
        """A function with the line in which most time was seen; None where none was."""
        lines = self._lines.get(function) if function is not None else None
        if function is None or not lines:
            return None
        line = max(lines.items(), key=lambda item: (item[1], -item[0]))[0]
        return Frame(function[0], function[1], line)

    def _add(self, stacks: Ints, ns: Ints) -> None:
        known = stacks >= 0
        if not len(self._frame) or not known.any():
            return
        spent = np.bincount(self._frame[stacks[known]], ns[known], minlength=len(self._frames))
        for place in np.flatnonzero(spent).tolist():
            frame = self._frames[place]
            lines = self._lines.setdefault((frame.function, frame.file), Counter())
            lines[frame.line] += int(spent[place])
