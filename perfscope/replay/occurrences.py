"""Which time of several a piece of work belongs to: the third evaluation, the fifth checkpoint.

A time is what a marked phase lasts on one rank, whatever collectives lie in it or between two of
them. What only stack samples tell of has no exact ends: its times are not known apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.phase_catalog import PhaseCatalog
from perfscope.attribution.stack_rules import kind_of_id
from perfscope.attribution.timeline import marked_accounts
from perfscope.matching.intervals import NOTHING
from perfscope.metrics.efficiency.visits import nothing_between
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Account, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import RowFlag, Trace

Integers = npt.NDArray[np.integer]

FIRST_LONGER = 1.5  # times the usual: then the first time does something once and for all
FEWEST_TIMES = 4


@dataclass(frozen=True)
class Marks:
    """Marked phases and steps of all ranks; arrays have one element each."""

    column: Ints  # of the rank
    begin: Ints
    end: Ints
    phase: Ints  # index in the phase ids, -1 a step
    account: Ints  # index in Account, NOTHING of phases that have none
    epoch: Ints  # of steps, -1 not known
    evaluations: Ints | None = None  # indices of the phases that are evaluation, None of none

    @classmethod
    def of(cls, results: Results) -> Marks:
        """Those of the whole run, so that ranks number their times alike in any part of it."""
        catalog = PhaseCatalog(results.phase_ids)
        found = [
            _of_rank(results.trace, place, catalog) for place in range(len(results.trace.ranks))
        ]
        whole = cls(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
        kinds = [kind_of_id(one) for one in results.phase_ids]
        evaluate = np.flatnonzero([one is PhaseKind.EVALUATE for one in kinds])
        return replace(whole, evaluations=evaluate)

    def chosen(self, edit: Edit, phase_ids: tuple[str, ...]) -> Bools:
        """Which of them an edit means: those of its phase, else of its account, else all."""
        result = np.ones(len(self.column), np.bool_)
        if edit.phase is not None:
            known = edit.phase in phase_ids
            result &= known and self.phase == phase_ids.index(edit.phase)
        elif edit.account is not None:
            result &= self.account == INDEX[edit.account]
        return result

    def numbers(self, chosen: Bools, column: Integers, at: Ints) -> Ints:
        """Which time of its rank each moment lies in, from 1; 0 where it lies in none.

        What lies inside another one of the chosen is part of it, and evaluations between which no
        step begins are one.
        """
        result = np.zeros(len(at), np.int64)
        marks = {rank: mine[chosen[mine]] for rank, mine in by_rank(self.column)}
        for rank, here in by_rank(column):
            mine = marks.get(rank, np.empty(0, np.int64))
            if not len(mine):
                continue
            starts, ends = outermost(self.begin[mine], self.end[mine])
            found = np.searchsorted(starts, at[here], side="right")
            inside = (found > 0) & (at[here] < ends[np.maximum(found - 1, 0)])
            number = self._times(rank, mine, starts, ends)
            result[here] = np.where(inside, number[np.maximum(found - 1, 0)], 0)
        return result

    def _times(self, rank: int, mine: Ints, starts: Ints, ends: Ints) -> Ints:
        """The numbers, from 1, of what some marks of a rank are in: what lies in no other one."""
        begun = np.sort(self.begin[(self.column == rank) & (self.phase < 0)])
        meant = np.empty(0, np.int64) if self.evaluations is None else self.evaluations
        if not len(begun) or not np.all(np.isin(self.phase[mine], meant)):
            return np.arange(1, len(starts) + 1)
        parted = ~nothing_between(begun, ends[:-1], starts[1:])
        return np.concatenate([[1], 1 + np.cumsum(parted)])


def outermost(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """When marks begin and end that lie in no other one, in order."""
    order = np.lexsort((-end, begin))
    begin, reach = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], begin[1:] >= reach[:-1]])[: len(order)])
    return begin[first], reach[np.append(first[1:], len(order))[: len(first)] - 1]


def _of_rank(trace: Trace, place: int, catalog: PhaseCatalog) -> tuple[Ints, ...]:
    """The columns of the marks of one rank."""
    rank = trace.ranks[place]
    rows = rank.phases[
        (rank.phases["tid"] == rank.main_tid) & ((rank.phases["flags"] & RowFlag.SAMPLED) == 0)
    ]
    steps = rank.steps
    nowhere = np.full(len(steps), NOTHING, np.int64)
    training = np.full(len(steps), INDEX[Account.TRAINING], np.int64)
    return (
        np.full(len(rows) + len(steps), place, np.int64),
        np.concatenate([rows["t0"], steps["t0"]]).astype(np.int64),
        np.concatenate([rows["t1"], steps["t1"]]).astype(np.int64),
        np.concatenate([catalog.of_rows(trace, rows), nowhere]),
        np.concatenate([marked_accounts(rows, steps), training]),
        np.concatenate([np.full(len(rows), -1, np.int64), steps["epoch"].astype(np.int64)]),
    )


def by_rank(column: Integers) -> Iterator[tuple[int, Ints]]:
    """The rows of each rank, in their order."""
    order = np.argsort(column, kind="stable")
    ranks, starts = np.unique(column[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    for place, rank in enumerate(ranks.tolist()):
        yield rank, order[bounds[place] : bounds[place + 1]]


def factors(column: Integers, number: Ints, ns: Floats, every: int) -> Floats:
    """What is left of pieces of work of which every so many-th time is kept, as factors.

    What the first time takes longer than usual, to compile for example, the first that is kept
    takes longer then. Of times that are not known apart, each is so much shorter.

    Args:
        column: rank of each piece.
        number: which time of its rank it belongs to, from 1; 0 not known.
        ns: how long each takes.
        every: how many times there are for one that is kept.
    """
    result = np.where(number % every == 0, 1.0, 0.0)
    result[number == 0] = 1.0 / every
    for _, pieces in by_rank(column):
        here = pieces[number[pieces] > 0]
        spent = np.bincount(number[here], ns[here])
        times = np.flatnonzero(spent > 0)
        kept = times[times % every == 0]
        if len(times) < FEWEST_TIMES or not len(kept) or kept[0] == times[0]:
            continue
        usual, first = float(np.median(spent[times[1:]])), float(spent[times[0]])
        if first > FIRST_LONGER * usual:
            longer = (spent[kept[0]] + first - usual) / spent[kept[0]]
            result[here[number[here] == kept[0]]] = longer
    return result
