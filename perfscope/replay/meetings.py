"""Who waits for whom in the collectives of a program."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfscope.arrays import Bools, Ints, SmallCodes
from perfscope.structures import dataclass


class Kind(IntEnum):
    """Who waits for whom."""

    ALL = 0  # everyone for everyone; also rooted collectives that in fact synchronize
    FROM_ROOT = 1  # everyone for the root
    TO_ROOT = 2  # the root for everyone
    SCAN = 3  # each for those before it, in the order of the rows


@dataclass(frozen=True)
class Meetings:
    """Collectives as calls: instance k has `rows[starts[k]:starts[k + 1]]`.

    Rows are ordered by rank, those of a scan by their rank in the communicator.
    """

    rows: Ints
    starts: Ints
    kind: Ints  # Kind, shape (instances,)
    root: Ints  # row of the root, -1 without one, shape (instances,)
    blocking: Bools  # else the row only starts it, shape (instances,)
    silent: Bools  # rows for which nobody waits: they contribute nothing
    ends: Ints  # rows in which these complete: themselves where they block, -1 not known

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def instance(self) -> Ints:
        """The instance of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def renumbered(self, row_of: SmallCodes) -> Meetings:
        """The same meetings with `row_of[row]` in place of each row."""
        if not len(self):
            return self
        root, ends = (np.where(rows >= 0, row_of[rows], -1) for rows in (self.root, self.ends))
        rows = row_of[self.rows].astype(np.int64, copy=False)
        return Meetings(rows, self.starts, self.kind, root, self.blocking, self.silent, ends)

    def without(self, left_out: Bools) -> Meetings:
        """The other meetings."""
        kept = ~left_out
        sizes, of_row = np.diff(self.starts)[kept], kept[self.instance]
        return Meetings(
            self.rows[of_row],
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            self.kind[kept],
            self.root[kept],
            self.blocking[kept],
            self.silent[of_row],
            self.ends[of_row],
        )
