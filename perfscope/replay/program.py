"""A run as rows: what each rank did before each collective, and how long that itself took.

A row is one entry of one rank into one collective, with the work before it. Rows of a rank are
contiguous and in program order; the first is its start and the last its end, so the predecessor of
row r is row r - 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Release:
    """Rows that leave a collective together, and the rows whose arrival they need."""

    released: tuple[int, ...]
    needed: tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """Pieces of local work, each before one row; times in nanoseconds."""

    row: Ints
    account: Ints  # index in Account
    ns: Floats


@dataclass(frozen=True)
class Program:
    """The run between two instants as a (max,+) system.

    A cut is a collective that no rank leaves before all have arrived. `cut_rows[s]` and `cut_rows[s
    + 1]` bound segment s on each rank, shape (segments + 1, ranks); the first holds the starts and
    the last the ends. Segments do not depend on each other: their lengths, each from the last
    arrival at its first cut to the last arrival at its second, add up to the run's.
    """

    ranks: tuple[int, ...]
    row_rank: Ints  # column of the row's rank, shape (rows,)
    row_segment: Ints  # shape (rows,)
    segment_kind: Ints  # segments of one kind lie at the same place of a step, shape (segments,)
    work: Work
    fixed_ns: Floats  # before each row: a rank's communication alone, never edited, shape (rows,)
    transfer_ns: Floats  # of each row: exit - need, shape (rows,)
    cut_rows: Ints
    releases: dict[int, tuple[Release, ...]] = field(default_factory=dict)
    """By segment, causes first; only of segments that hold more than their closing cut."""

    @property
    def segment_count(self) -> int:
        """Number of segments that replay independently."""
        return int(self.cut_rows.shape[0]) - 1

    @property
    def row_count(self) -> int:
        """Number of rows of all ranks."""
        return int(self.row_rank.shape[0])


def segment_lengths(program: Program, work: Work, transfer_ns: Floats) -> Floats:
    """Length of each segment in nanoseconds, shape (segments,), for given work and transfer."""
    gap = program.fixed_ns + np.bincount(work.row, weights=work.ns, minlength=program.row_count)
    start = transfer_ns[program.cut_rows[:-1]]
    lengths: Floats = (start + gap[program.cut_rows[1:]]).max(axis=1)
    for segment, releases in program.releases.items():
        lengths[segment] = _replay_segment(program, segment, releases, gap, transfer_ns)
    return lengths


def _replay_segment(
    program: Program, segment: int, releases: tuple[Release, ...], gap: Floats, transfer_ns: Floats
) -> float:
    """Length of one segment that holds collectives other than its closing cut, in nanoseconds."""
    exits = {int(row): float(transfer_ns[row]) for row in program.cut_rows[segment]}
    for release in releases:
        need = max(exits[row - 1] + float(gap[row]) for row in release.needed)
        for row in release.released:
            arrival = exits[row - 1] + float(gap[row])
            exits[row] = max(arrival, need) + float(transfer_ns[row])
    return max(exits[int(row) - 1] + float(gap[row]) for row in program.cut_rows[segment + 1])
