"""In which order the collectives between two cuts complete."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from perfscope.replay.meetings import Kind, Meetings, needed_rows
from perfscope.replay.program import Ints, Release

INCONSISTENT = "the ranks enter the same collectives in different orders"


def cut_table(meetings: Meetings, starts: Ints) -> Ints:
    """Rows of every collective that holds all ranks, framed by starts and ends: (cuts + 2, ranks).

    Args:
        meetings: the collectives, their rows being rows of the program.
        starts: first row of each rank, and one past the last row.

    Raises:
        ValueError: the ranks do not agree on the order.
    """
    ranks = len(starts) - 1
    whole = (np.diff(meetings.starts) == ranks) & (meetings.kind == Kind.ALL)
    rows = meetings.rows[whole[meetings.instance]].reshape(-1, ranks)
    # columns in the order of the ranks, whatever their order in the communicator
    cuts = np.sort(rows, axis=1)
    cuts = cuts[np.argsort(cuts[:, 0], kind="stable")]
    table = np.concatenate([starts[None, :-1], cuts, starts[None, 1:] - 1])
    if np.any(np.diff(table, axis=0) <= 0):
        raise ValueError(INCONSISTENT)
    return table


def schedule(
    meetings: Meetings, cut_rows: Ints, row_segment: Ints
) -> dict[int, tuple[Release, ...]]:
    """The order of releases of every segment that holds more than its closing cut.

    Raises:
        ValueError: the collectives wait for each other in a circle.
    """
    is_cut = np.zeros(len(row_segment), dtype=bool)
    is_cut[cut_rows] = True
    needed: dict[int, tuple[int, ...]] = {}
    for index in np.flatnonzero(~is_cut[meetings.rows[meetings.starts[:-1]]]):
        rows = meetings.of(int(index))
        kind, root = int(meetings.kind[index]), int(meetings.root[index])
        for row in rows.tolist():
            # what an earlier segment holds arrived before the cut: nobody waits for it any more
            needed[row] = tuple(
                other
                for other in needed_rows(rows, kind, root, row)
                if row_segment[other] == row_segment[row]
            )
    by_segment: dict[int, list[int]] = defaultdict(list)
    for row in needed:
        by_segment[int(row_segment[row])].append(row)
    return {
        segment: _Order(rows, needed).releases() for segment, rows in sorted(by_segment.items())
    }


class _Order:
    """Finds the releases of one segment, each after those that its arrivals follow."""

    def __init__(self, rows: list[int], needed: dict[int, tuple[int, ...]]) -> None:
        self.inside = set(rows)
        self.needed = needed
        self.waiting: dict[tuple[int, ...], list[int]] = defaultdict(list)
        self.wanted_by: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        self.present: set[int] = set()
        for row in sorted(rows):
            if needed[row] not in self.waiting:
                for other in needed[row]:
                    self.wanted_by[other].append(needed[row])
            self.waiting[needed[row]].append(row)
        self.missing = {want: len(want) for want in self.waiting}

    def releases(self) -> tuple[Release, ...]:
        """The releases in order.

        Raises:
            ValueError: the collectives wait for each other in a circle.
        """
        arrived = [row for row in sorted(self.inside) if row - 1 not in self.inside]
        order = list[Release]()
        while arrived:
            for release in self._arrive(arrived.pop()):
                order.append(release)
                arrived.extend(row + 1 for row in release.released if row + 1 in self.inside)
        if sum(len(release.released) for release in order) != len(self.inside):
            raise ValueError(INCONSISTENT)
        return tuple(order)

    def _arrive(self, row: int) -> list[Release]:
        """The releases that the arrival of a row makes possible."""
        self.present.add(row)
        wants = dict.fromkeys(self.wanted_by[row])
        for want in wants:
            self.missing[want] -= 1
        wants[self.needed[row]] = None
        found = []
        for want in wants:
            if self.missing[want] == 0:
                leaving = tuple(r for r in self.waiting[want] if r in self.present)
                self.waiting[want] = [r for r in self.waiting[want] if r not in self.present]
                if leaving:
                    found.append(Release(released=leaving, needed=want))
        return found
