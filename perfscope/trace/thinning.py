"""Which windows of a thinned recording were kept in detail, and totals over all of them.

A window ends with a step, with every 32nd collective on the world communicator, or with an eighth
of a second of wall-clock time (a second where stacks are sampled at 8 Hz or less often); all ranks
number them alike. Whenever a rank reached its space limit it kept one window in two, then one in
four, and so on, chosen by the window's number alone.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.structures import dataclass


class WindowSource(IntEnum):
    """What ends a window, from the least to the most specific (ps_window)."""

    NONE = 0
    TIME = 1
    COLLECTIVE = 2
    STEP = 3


UNUSUAL_WINDOWS = 16
"""Longest windows that a recorder keeps, in addition to the random selection."""

WINDOW_DTYPE = np.dtype([("t0", "i8"), ("t1", "i8"), ("number", "i8"), ("source", "u1")])
"""A window kept in detail: its start and end, its number, and what ended it."""

BLOCK_DTYPE = np.dtype(
    [
        ("t0", "i8"),  # begin of the first step
        ("t1", "i8"),  # end of the last one
        ("count", "i8"),
        ("ns", "i8"),  # of all its steps
        ("samples", "i8"),
        ("shortest_ns", "i8"),
        ("longest_ns", "i8"),
        ("first", "i8"),  # number of the first step
        ("longest", "i8"),  # and of the longest one
    ]
)
"""Sums over neighboring steps, whether or not they were kept in detail."""

CALL_TOTAL_DTYPE = np.dtype(
    [
        ("op", "i4"),  # operation code, or kind of a phase
        ("comm", "i4"),  # index of the communicator, of a phase of its name; -1 none
        ("phase", "u1"),  # kind of the innermost phase that was open, 0 none
        ("is_main", "?"),  # on the main thread
        ("is_phase", "?"),  # of a phase itself, not of calls in it
        ("count", "i8"),
        ("ns", "i8"),
        ("sent", "i8"),
        ("received", "i8"),
    ]
)


@dataclass(frozen=True)
class RankThinning:
    """What one rank kept."""

    level: int  # one window in 2^level is kept; 0: all are
    windows: dict[WindowSource, int]  # how many ended, by what they ended with
    records: int  # removed
    calls_not_sorted: int = 0  # in totals by operation only, not by communicator and phase

    @property
    def source(self) -> WindowSource:
        """What ended most windows of the run."""
        return max((s for s, count in self.windows.items() if count), default=WindowSource.NONE)


def is_selected(numbers: Ints, level: int) -> Bools:
    """Which numbers are kept at a level, as native/recorder/records/thinning.c decides it.

    One window in 2^level is kept. Of each pair of neighbors at a level, one is kept
    pseudo-randomly, so that periodic events are kept as often as all others.
    """
    kept = np.ones(len(numbers), np.bool_)
    values = numbers.astype(np.uint64)
    for bit in range(level):
        own = (values >> np.uint64(bit)) & np.uint64(1)
        pair = (values >> np.uint64(bit)) >> np.uint64(1)
        kept &= own == (_mixed((pair << np.uint64(5)) | np.uint64(bit)) & np.uint64(1))
    return kept


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True)
class Kept:
    """The pieces that a spliced trace consists of: start-up, windows, and what followed them."""

    source: WindowSource  # what the windows end with
    level: int  # of the rank that kept the fewest
    windows: int  # that are in it
    ended: int  # windows of the run
    cut_ns: int  # time that is left out
    # by rank, time between the pieces, because other ranks need less for what is left out
    residue_ns: tuple[int, ...]
    starts_ns: Ints  # begin of each piece on the trace's clock, shape (ranks, pieces)
    ends_ns: Ints  # their ends; what lies between them is no part of the run
