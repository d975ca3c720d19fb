"""The waiting that was measured, row by row of the replay: delay costs charge this and no other.

What the replay makes a rank wait for is the same where clocks agree. Where a message seems to
arrive before it was sent, the replayed wait is longer than the call was; the measured one is not.
"""

import numpy as np

from perfscope.arrays import Floats, Int32s, Ints, blocks
from perfscope.attribution.ledger import INDEX
from perfscope.engine import engine
from perfscope.metrics.results import Results
from perfscope.replay.program import Program
from perfscope.schema.enums import Account
from perfscope.structures import dataclass


@dataclass(frozen=True)
class MeasuredWaits:
    """Nanoseconds by row; together they are the waiting of all ranks in the focus of analysis."""

    inside: Floats  # in the call of the row, or after the rank's own work in that of its end
    rows: Ints  # before whose calls a rank waited in calls that are not replayed
    before: Floats  # in those, shaped as `rows`

    @property
    def total_ns(self) -> float:
        """All of it."""
        return float(self.inside.sum() + self.before.sum())

    def by_unit(self, key: Int32s, units: Ints, count: int) -> Floats:
        """All of it by the unit that the key of each row belongs to, of so many, shape (count,)."""
        found = np.bincount(units.take(key[self.rows]), self.before, count).astype(np.float64)
        for rows in blocks(len(key)):  # whole nanoseconds: their sums are exact in any order
            found += np.bincount(units.take(key[rows]), self.inside[rows], count)
        return found


def measured_waits(results: Results, program: Program) -> MeasuredWaits:
    """The measured waiting of every row of the program."""
    assert program.pool_row is not None
    focus, pool = results.focus, results.waits.pool
    inside = np.zeros(program.row_count)
    rows, before = [np.empty(0, np.int64)], [np.empty(0)]
    bounds = np.append(program.cut_rows[0], program.row_count)  # rows of a rank lie together
    for place, timeline in enumerate(results.timelines):
        first, end = int(bounds[place]), int(bounds[place + 1])
        mine = results.waits.of_rank(place)
        enter, leave = (pool.between(name, mine.start, mine.stop) for name in ("enter", "exit"))
        found = engine.row_waits(
            timeline.boundaries,
            timeline.accounts,
            INDEX[Account.COMMUNICATION_WAIT],
            program.pool_row.between(first + 1, end - 1) - np.int32(mine.start),
            enter,
            leave,
            focus.start_ns,
            focus.end_ns,
        )
        inside[first + 1 : end], some, waited = found
        rows.append(first + 1 + some)
        before.append(waited)
    return MeasuredWaits(inside, np.concatenate(rows), np.concatenate(before))
