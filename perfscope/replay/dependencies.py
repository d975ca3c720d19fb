"""From collectives and messages to what each row of a program needs."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Int32s, Ints
from perfscope.engine import engine
from perfscope.replay.meetings import Meetings
from perfscope.replay.program import Needs
from perfscope.structures import dataclass

MOST_NEEDS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Dependencies:
    """Hubs and pairs (row, what it needs): a row, or ~hub; the unsorted form of `Needs`."""

    hub_starts: Ints
    hub_rows: Ints
    hub_parent: Ints
    row: Ints
    on: Ints

    @classmethod
    def of(cls, meetings: Meetings, row: Ints, on: Ints) -> Dependencies:
        """Those of collectives and of the messages (row, on).

        Each of `row` waits for the arrival of that in `on`.
        """
        columns = (meetings.starts, meetings.rows, meetings.kind, meetings.root)
        starts, rows, parent, waiting, needed = engine.needs_of_meetings(
            (*columns, meetings.silent.view(np.uint8), meetings.ends)
        )
        if len(row):
            waiting, needed = np.concatenate([waiting, row]), np.concatenate([needed, on])
        return cls(starts, rows, parent, waiting, needed)

    def needs(self, enter: Ints) -> Ints:
        """Before which time each row cannot complete, shape (rows,), for given arrivals."""
        hubs = self.hub_starts, self.hub_rows, self.hub_parent
        return engine.needed_before(enter, hubs, self.row, self.on)

    def laid_out(self, row_of: Int32s, row_count: int) -> Needs:
        """The same, row after row, with `row_of[row]` in place of each row.

        Raises:
            ValueError: rows wait for more than can be numbered.
        """
        if len(self.on) > MOST_NEEDS:
            raise ValueError(f"its calls wait for more than {MOST_NEEDS:,} others")
        starts, needs = engine.needs_of_rows(self.row, self.on, row_of, row_count)
        hub_rows = row_of[self.hub_rows].astype(np.int64)
        return Needs(self.hub_starts, hub_rows, self.hub_parent, starts, needs)
