"""Time that ranks spend themselves on what is no training work, by its cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints, blocks, joined, rows_by
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_timeline import GARBAGE, ActivityTable
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import ACCOUNTS, INDEX
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.attribution.timeline import Timeline, some_at_once
from perfscope.losses.cause import OTHER_WORK, OUTSIDE, LossCause, cause_of_work
from perfscope.losses.held_up import held_up, held_up_s
from perfscope.losses.parts import whole_parts_of_rows
from perfscope.losses.places import Functions, Places
from perfscope.losses.waiting import Cells
from perfscope.matching.pool import dense
from perfscope.metrics.results import Results
from perfscope.replay.program import Program
from perfscope.replay.steps import Steps
from perfscope.schema.enums import Account, LossKind
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.operations import name_of

Found = defaultdict[LossCause, Ints]

_WORK = np.isin(np.arange(len(ACCOUNTS)), [INDEX[account] for account in OTHER_WORK])


def own_times(results: Results, places: Places) -> dict[LossCause, Ints]:
    """Nanoseconds of each rank by cause, shape (ranks,); waiting for others is not among them."""
    nothing = np.zeros(len(results.trace.ranks), np.int64)
    found: Found = defaultdict(nothing.copy)
    told = stack_activities(results.trace)
    training_ns = nothing.copy()
    for here, lines in some_at_once(results.timelines):
        ranks = [results.trace.ranks[position] for position in here]
        moments = Moments.of(ranks, lines, places, told)
        training_ns[here] += moments.training_ns(results.focus)
        for cause, rank, ns in _other_work(results, places, moments):
            np.add.at(found[cause], np.array(here)[rank], ns)
    for position, held_s in enumerate(held_up_s(results)):
        for cause, lost_ns in held_up(results, position, int(training_ns[position]), held_s):
            if lost_ns:
                found[cause][position] += lost_ns
    for cause, of_ranks in _by_account(results):
        found[cause] += of_ranks
    return dict(found)


def _by_account(results: Results) -> Iterator[tuple[LossCause, Ints]]:
    """What the accounts alone tell: outside the focus, not known, and communication."""
    totals = np.array([line.spent()[0] for line in results.timelines]).reshape(-1, len(ACCOUNTS))
    for account in OUTSIDE:
        yield LossCause(LossKind.OUTSIDE, account), totals[:, INDEX[account]]
    yield LossCause(LossKind.UNKNOWN), totals[:, INDEX[Account.UNTRACED]]
    in_calls = _in_calls(results)
    for kind, account in (
        (LossKind.TRANSFER, Account.COMMUNICATION_TRANSFER),
        (LossKind.COMMUNICATION, Account.COMMUNICATION_OTHER),
    ):
        whole = totals[:, INDEX[account]]
        parts = whole_parts_of_rows(whole, in_calls[int(kind is LossKind.TRANSFER)])
        yield LossCause(kind, operation=""), whole - parts.sum(axis=1)
        for code in np.flatnonzero(parts.any(axis=0)).tolist():
            yield LossCause(kind, operation=name_of(code)), parts[:, code]


@dataclass(frozen=True)
class Moments:
    """A partition of the lives of ranks, shape (moments,); activities are such as are no training.

    A sample's stack speaks for the time around it, and may so stand on the other side of where a
    phase begins or ends: `is_seen` where the sample itself lies. An activity it tells anywhere.
    """

    all: ActivityTable
    activity: npt.NDArray[np.int8]
    is_seen: Bools

    @classmethod
    def of(
        cls,
        ranks: Sequence[Rank],
        lines: Sequence[Timeline],
        places: Functions,
        told: npt.NDArray[np.int8],
    ) -> Moments:
        """Those of timelines; collections that were measured count for as long as they took."""
        found = ActivityTable.of(ranks, lines, told)
        activity = places.not_training(found.stack, found.account)
        activity[(found.activity == GARBAGE) & IS_TRAINING.take(found.account)] = GARBAGE
        seen = zip(found.each, ranks, strict=True)
        return cls(
            found,
            activity,
            joined(_have_any(own.boundaries, rank.main_stacks["t"]) for own, rank in seen),
        )

    def training_ns(self, focus: Focus) -> Ints:
        """Training work in the focus, by rank."""
        found = self.all
        is_meant = found.within(focus) & IS_TRAINING.take(found.account) & (self.activity < 0)
        before = np.concatenate([[0], np.cumsum(found.length * is_meant)])
        return np.diff(before[np.searchsorted(found.rank, np.arange(len(found.each) + 1))])


def _have_any(boundaries: Ints, moments: Ints) -> Bools:
    """Which pieces of a partition have some of the moments in them; all where there are none."""
    if not len(moments):
        return np.ones(len(boundaries) - 1, np.bool_)
    before = np.searchsorted(np.sort(moments), boundaries)
    return np.diff(before) > 0


def _other_work(
    results: Results, places: Places, moments: Moments
) -> Iterator[tuple[LossCause, Ints, Ints]]:
    """Work that is no training, by account, phase, function and activity: ranks and lengths."""
    found = moments.all
    here = np.flatnonzero(_WORK.take(found.account) | (moments.activity >= 0))
    work = _Work(
        found.account[here],
        found.phase[here],
        places.functions_of(found.stack[here]),
        moments.activity[here],
    )
    for cause, mine in work.causes(results, places):
        pieces = here[mine]
        seen = pieces[moments.is_seen[pieces] | (moments.activity[pieces] >= 0)]
        places.see(cause, found.stack[seen], found.length[seen])
        yield cause, found.rank[pieces], found.length[pieces]


@dataclass(frozen=True)
class _Work:
    """Pieces of work that is no training; all are indices, shape (pieces,)."""

    account: npt.NDArray[np.integer]
    phase: npt.NDArray[np.integer]
    function: Ints
    activity: npt.NDArray[np.integer]

    def causes(self, results: Results, places: Places) -> Iterator[tuple[LossCause, Ints]]:
        """Each cause with its pieces."""
        together: defaultdict[LossCause, list[Ints]] = defaultdict(list)
        for mine in rows_by(dense(self.account, self.phase, self.function, self.activity)):
            first = mine[0]
            phase, activity = int(self.phase[first]), int(self.activity[first])
            cause = cause_of_work(
                ACCOUNTS[int(self.account[first])],
                results.phase_ids[phase] if phase >= 0 else "",
                places.name(int(self.function[first])),
                ACTIVITIES[activity] if activity >= 0 else None,
            )
            together[cause].append(mine)
        for cause, parts in together.items():
            yield cause, np.concatenate(parts)


def _in_calls(results: Results) -> Floats:
    """What calls of the main locations took in the focus after the wait, in nanoseconds.

    By whether the wait is known, rank and operation code, shape (2, ranks, codes).
    """
    waits, focus, ranks = results.waits, results.focus, results.trace.ranks
    pool, known = waits.pool, waits.known
    need, enter, leave, tid = waits.need, pool.enter, pool.exit, pool.tid
    main_tid = np.array([rank.main_tid for rank in ranks])
    codes = int(pool.op.max(initial=0)) + 1
    found = np.zeros((len(ranks), 2, codes))
    for rows in blocks(len(pool)):  # whole nanoseconds: their sums are exact in any order
        rank, is_known = pool.rank[rows].astype(np.int64), known[rows]
        begin = np.where(is_known, need[rows], enter[rows])
        spent = np.minimum(leave[rows], focus.end_ns) - np.maximum(begin, focus.start_ns)
        counts = (spent > 0) & (tid[rows] == main_tid[rank])
        first, behind = int(rank[0]), int(rank[-1]) + 1  # rows come rank after rank
        cell = ((rank - first) * 2 + is_known) * codes + pool.op[rows]
        size = (behind - first) * 2 * codes
        told = np.bincount(cell[counts], spent[counts], size)
        found[first:behind] += told.reshape(-1, 2, codes)
    return np.swapaxes(found, 0, 1)


def work_cells(
    results: Results, program: Program, steps: Steps, places: Places
) -> dict[LossCause, Cells]:
    """The same work that is no training step by step, as far as it is replayed."""
    activity = program.functions.activity
    here = np.flatnonzero(_WORK.take(program.work.account) | (activity >= 0))
    work = _Work(
        program.work.account[here].astype(np.int64),
        program.phase[here].astype(np.int64),
        places.functions_of(program.stack[here].astype(np.int64)),
        activity[here],
    )
    step = steps.of_pieces(here)
    rank = program.row_rank[program.work.row[here]].astype(np.int64)
    ns = program.work.ns[here]
    return {
        cause: Cells(step[mine], rank[mine], np.zeros(len(mine), np.int64), ns[mine])
        for cause, mine in work.causes(results, places)
    }
