"""A long run replayed window by window: memory grows with one window, not with the run.

A window is a run of whole segments. It begins with the cut at which the window before it ended:
that cut's rows are its starts, and their transfer is the first that happens in it. Nothing else
crosses a cut, so the lengths of the segments of all windows are those of the whole run.
"""

from collections.abc import Iterable

import numpy as np

from perfscope.engine import engine as compiled
from perfscope.replay.program import Floats, Ints, Needs, Program
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


def window_of(program: Program, gap_ns: Floats, first: int, behind: int) -> Window:
    """The segments [first, behind) of a program.

    Args:
        program: the run.
        gap_ns: nanoseconds before each row, shape (rows,).
        first: segment.
        behind: the segment that is no part any more.
    """
    cuts = program.cut_rows[first : behind + 1]
    base = np.concatenate([[0], np.cumsum(cuts[-1] - cuts[0] + 1)])[:-1]
    row = rows_between(program, first, behind)
    return Window(
        cut_rows=cuts - cuts[0] + base,
        needs=_needs(program, row, cuts, base),
        gap_ns=gap_ns[row],
        transfer_ns=program.transfer_ns[row],
    )


def rows_between(program: Program, first: int, behind: int) -> Ints:
    """The rows of a program that those of the window of the segments [first, behind) are."""
    opening, closing = program.cut_rows[first], program.cut_rows[behind]
    sizes = closing - opening + 1
    base = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    return np.asarray(np.repeat(opening - base, sizes) + np.arange(int(sizes.sum())))


def _needs(program: Program, row: Ints, cuts: Ints, base: Ints) -> Needs:
    """What the rows of a window need inside it, with the numbers that they have there."""
    needs = program.needs
    counts = needs.need_starts[row + 1] - needs.need_starts[row]
    counts[np.isin(row, cuts)] = 0  # a cut waits for all, whatever else it needs
    first = np.repeat(needs.need_starts[row] - (np.cumsum(counts) - counts), counts)
    on = needs.needs[first + np.arange(len(first))]
    owner = np.repeat(np.arange(len(row)), counts)

    def numbered(rows: Ints) -> Ints:
        """Row numbers in the window, -1 of what lies in front of it."""
        rank = program.row_rank[rows]
        return np.where(rows > cuts[0][rank], rows - cuts[0][rank] + base[rank], -1)

    hub_starts, hub_rows, parent, hub_place = _hubs(needs, ~on[on < 0])
    members = numbered(hub_rows)
    inside = members >= 0
    kept = np.concatenate([[0], np.cumsum(inside)])[hub_starts]
    result = on.copy()
    result[on < 0] = ~hub_place
    result[on >= 0] = numbered(on[on >= 0])
    usable = (on < 0) | (result >= 0)
    row_counts = np.bincount(owner[usable], minlength=len(row))
    return Needs(
        hub_starts=kept.astype(np.int64),
        hub_rows=members[inside],
        hub_parent=parent,
        need_starts=np.concatenate([[0], np.cumsum(row_counts)]).astype(np.int64),
        needs=result[usable],
    )


def _hubs(needs: Needs, wanted: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The hubs that are wanted, and those before them that count as their own.

    Returns:
        Starts of their members, members, parents, and the place of each that is wanted.
    """
    count = len(needs.hub_parent)
    chain = np.maximum.accumulate(np.where(needs.hub_parent < 0, np.arange(count), 0))
    edges = np.zeros(count + 1, np.int64)
    np.add.at(edges, chain[wanted], 1)
    np.add.at(edges, wanted + 1, -1)
    hubs = np.flatnonzero(np.cumsum(edges)[:-1] > 0)
    sizes = needs.hub_starts[hubs + 1] - needs.hub_starts[hubs]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    place = np.repeat(needs.hub_starts[hubs] - starts[:-1], sizes) + np.arange(int(sizes.sum()))
    parent = np.where(needs.hub_parent[hubs] < 0, -1, np.arange(len(hubs)) - 1)
    return starts, needs.hub_rows[place], parent, np.searchsorted(hubs, wanted)
