"""The timelines of the ranks at several zoom levels, with the main account of each bin."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import ACCOUNTS
from perfscope.attribution.timeline import Timeline
from perfscope.engine import engine
from perfscope.matching.intervals import Times
from perfscope.structures import dataclass

Cells = npt.NDArray[np.uint8]

NOBODY = len(ACCOUNTS)
"""What a cell holds in most of which the rank's process was not there."""

MOST_ROWS = 64
OUTLIERS = 16
"""Of these rows, where there are more ranks: those that differ most from the others."""

COARSEST_BINS = 256
FINER = 8
"""How many bins of a level make one of the level above it."""

MOST_BINS = COARSEST_BINS * FINER**2
MOST_CELLS = 300_000
"""Of the finest level, all rows together."""

LEAST_BIN_NS = 1000
"""In less there is hardly one call: an MPI call with its record takes about as long."""


@dataclass(frozen=True)
class Level:
    """Rows of bins of one width.

    `cells` has shape (rows, bins): indices in `ACCOUNTS`, or `NOBODY`. Where two accounts take the
    same time of a bin, it is the one that comes first in the ledger.
    """

    bin_ns: int
    cells: Cells


@dataclass(frozen=True)
class Zoom:
    """The focus of analysis in bins, coarsest level first, each level `FINER` times finer.

    A bin holds the account that takes most of its own time, which need not be the one that most of
    its finer bins hold. The last bin of a level may end behind the focus, where nothing counts.
    """

    start_ns: int
    length_ns: int
    rows: tuple[int, ...]  # places in Trace.ranks, ascending
    levels: tuple[Level, ...]


def zoom(timelines: Sequence[Timeline], focus: Focus) -> Zoom | None:
    """The timelines in bins; None where there is no rank or no time."""
    if not timelines or focus.length_ns <= 0:
        return None
    rows = shown_rows(timelines, focus)
    finest_ns, depth = _finest(focus.length_ns, len(rows))
    of_rows = [_row_levels(timelines[row], focus, finest_ns, depth) for row in rows]
    levels = tuple(
        Level(finest_ns * FINER ** (depth - 1 - place), np.stack(cells))
        for place, cells in enumerate(zip(*of_rows, strict=True))
    )
    return Zoom(focus.start_ns, focus.length_ns, rows, levels)


def shown_rows(timelines: Sequence[Timeline], focus: Focus) -> tuple[int, ...]:
    """Places of all ranks, or of `MOST_ROWS`: the outliers, and others evenly between all.

    Outliers are the ranks whose time in some account differs most from that of the median rank.
    """
    count = len(timelines)
    if count <= MOST_ROWS:
        return tuple(range(count))
    spent = np.stack([_in_accounts(timeline, focus) for timeline in timelines])
    apart = np.abs(spent - np.median(spent, axis=0)).max(axis=1)
    order = np.argsort(-apart, kind="stable")
    others = np.sort(order[OUTLIERS:])
    wanted = MOST_ROWS - OUTLIERS
    spread = others[np.arange(wanted) * (len(others) - 1) // (wanted - 1)]
    return tuple(sorted([*order[:OUTLIERS].tolist(), *spread.tolist()]))


def _in_accounts(timeline: Timeline, focus: Focus) -> Times:
    """Nanoseconds of the focus in each account."""
    edges = np.clip(timeline.boundaries, focus.start_ns, focus.end_ns)
    # a float counts nanoseconds exactly up to 104 days
    spent = np.bincount(timeline.accounts, np.diff(edges), len(ACCOUNTS))
    return spent.astype(np.int64)


def _finest(length_ns: int, rows: int) -> tuple[int, int]:
    """The width of the finest bins and the number of levels."""
    bins, depth = COARSEST_BINS, 1
    while True:
        finer = bins * FINER
        if finer > MOST_BINS or finer * rows > MOST_CELLS or length_ns < finer * LEAST_BIN_NS:
            return -(-length_ns // bins), depth
        bins, depth = finer, depth + 1


def _row_levels(timeline: Timeline, focus: Focus, finest_ns: int, depth: int) -> list[Cells]:
    """The cells of one rank, coarsest level first."""
    spent = _spent(timeline, focus, finest_ns)
    levels = [_most(spent)]
    for _ in range(depth - 1):
        missing = -len(spent) % FINER
        whole = np.concatenate([spent, np.zeros((missing, NOBODY + 1), np.int64)])
        spent = whole.reshape(-1, FINER, NOBODY + 1).sum(axis=1)
        levels.append(_most(spent))
    return levels[::-1]


def _spent(timeline: Timeline, focus: Focus, bin_ns: int) -> Times:
    """Nanoseconds of each bin (rows) in each account (columns), the last column without process."""
    ends = focus.start_ns, focus.end_ns
    return engine.spent_by_bin(timeline.columns, *ends, bin_ns, NOBODY).reshape(-1, NOBODY + 1)


def _most(spent: Times) -> Cells:
    """The account with most time in each bin, of equal ones the first."""
    return np.asarray(np.argmax(spent, axis=1), np.uint8)
