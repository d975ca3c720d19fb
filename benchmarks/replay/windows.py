"""A long run replayed window by window: memory grows with one window, not with the run.

A window is a run of whole segments. It begins with the cut at which the window before it ended:
that cut's rows are its starts, and their transfer is the first that happens in it. Nothing else
crosses a cut, so the lengths of the segments of all windows are those of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.engine import engine as compiled
from perfscope.replay.program import Needs
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Window:
    """Rows between two cuts, rank after rank, numbered from 0 as those of a program are."""

    cut_rows: Ints  # shape (segments + 1, ranks)
    needs: Needs
    gap_ns: Floats  # before each row; that of a start counted in the window before
    transfer_ns: Floats  # of each row

    def lengths(self, threads: int = 0) -> Floats:
        """Length of each segment in nanoseconds, shape (segments,).

        Args:
            threads: that replay at most, 0 one a core; the result does not depend on it.

        Raises:
            ValueError: the ranks wait for each other in a circle.
        """
        return self.engine(threads).lengths(self.gap_ns, self.transfer_ns)

    def engine(self, threads: int = 0) -> compiled.Replay:
        """The compiled replay of these rows; as `lengths`, which asks it."""
        return self.needs.engine(self.cut_rows, threads)


def windowed_lengths(windows: Iterable[Window], threads: int = 0) -> Floats:
    """Length of each segment of a run that is handed over in windows, in ns, shape (segments,)."""
    return np.concatenate([np.empty(0), *(window.lengths(threads) for window in windows)])
