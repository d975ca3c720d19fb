"""Records of several processes as one table: each question is asked once, and not of each."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.structures import dataclass
from perfscope.trace.model import Table


@dataclass(frozen=True)
class Together:
    """Rows of several processes, those of one behind those of the other."""

    rows: Table
    process: Ints  # the place of the process that each row is of, ascending
    count: int  # of the processes

    @classmethod
    def of(cls, tables: Sequence[Table]) -> "Together":
        """Tables of processes, in their order."""
        process = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        rows = np.concatenate(tables) if len(tables) > 1 else tables[0]
        return cls(rows, process, len(tables))

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, chosen: Bools) -> "Together":
        """The rows that a mask chooses."""
        return Together(self.rows[chosen], self.process[chosen], self.count)

    def made(self, rows: Table) -> "Together":
        """Other rows that were made of these, one of each."""
        return Together(rows, self.process, self.count)

    def by_time(self, *columns: Ints) -> "Together":
        """The rows of each process in the order of columns, the most important one first."""
        keys = columns[::-1] if self.count == 1 else (*columns[::-1], self.process)
        order = np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
        return self.made(self.rows[order])  # which keeps the processes apart

    def apart(self) -> list[Table]:
        """The tables of the processes."""
        return [self.rows[first:end] for first, end in pairwise(self.edges.tolist())]

    @property
    def edges(self) -> Ints:
        """Where the rows of each process begin, and behind them where the last ones end."""
        return np.searchsorted(self.process, np.arange(self.count + 1))

    @property
    def firsts(self) -> Ints:
        """The first row of each process that has any."""
        return np.flatnonzero(np.diff(self.process, prepend=-1))

    def sums(self, grown: Ints) -> Ints:
        """What has grown by row so far, from zero in each process."""
        sums = np.cumsum(grown)
        before = np.zeros(self.count, np.int64)
        firsts = self.firsts
        before[self.process[firsts]] = sums[firsts] - grown[firsts]
        found: Ints = sums - before[self.process]
        return found

    def growing(self, *columns: str) -> Bools:
        """Which rows have no later one of their process with less in one of the columns."""
        sound, edges = np.ones(len(self), np.bool_), self.edges
        for column in columns:
            values = self.rows[column]
            falls = (values[1:] < values[:-1]) & (self.process[1:] == self.process[:-1])
            for process in np.unique(self.process[1:][falls]).tolist():
                own = slice(edges[process], edges[process + 1])
                least = np.minimum.accumulate(values[own][::-1])[::-1]
                sound[own] &= least == values[own]
        return sound

    def counts(self, chosen: Bools) -> list[int]:
        """How many of the rows that a mask chooses each process has."""
        found: list[int] = np.bincount(self.process[chosen], minlength=self.count).tolist()
        return found
