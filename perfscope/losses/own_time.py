"""Time that ranks spend themselves on what is no training work, by its cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints, SmallCodes, blocks, rows_by
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.activity_timeline import GARBAGE, activity_timeline
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import ACCOUNTS, INDEX
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.attribution.timeline import Timeline
from perfscope.losses.cause import OTHER_WORK, OUTSIDE, LossCause, cause_of_work
from perfscope.losses.held_up import held_up, held_up_s
from perfscope.losses.parts import whole_parts
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

_WORK = np.isin(np.arange(len(ACCOUNTS)), [INDEX[account] for account in OTHER_WORK])


def own_times(results: Results, places: Places) -> dict[LossCause, Ints]:
    """Nanoseconds of each rank by cause, shape (ranks,); waiting for others is not among them."""
    ranks = len(results.trace.ranks)
    found: defaultdict[LossCause, Ints] = defaultdict(lambda: np.zeros(ranks, np.int64))
    told = stack_activities(results.trace)
    in_calls = _InCalls.of(results)
    ranks_held = zip(results.trace.ranks, results.timelines, held_up_s(results), strict=True)
    for position, (rank, timeline, held_s) in enumerate(ranks_held):
        training_ns = 0
        for part in timeline.parts():
            moments = Moments.of(rank, part, places, told)
            training_ns += moments.training_ns(results.focus)
            for cause, ns in _other_work(results, places, moments):
                found[cause][position] += ns
        others = chain(
            held_up(results, position, training_ns, held_s),
            _by_account(in_calls, position, timeline),
        )
        for cause, ns in others:
            found[cause][position] += ns
    return dict(found)


def _by_account(
    in_calls: _InCalls, position: int, timeline: Timeline
) -> Iterator[tuple[LossCause, int]]:
    """What the accounts alone tell: outside the focus, not known, and communication."""
    totals = timeline.spent()[0]
    for account in OUTSIDE:
        yield LossCause(LossKind.OUTSIDE, account), int(totals[INDEX[account]])
    yield LossCause(LossKind.UNKNOWN), int(totals[INDEX[Account.UNTRACED]])
    for kind, account in (
        (LossKind.TRANSFER, Account.COMMUNICATION_TRANSFER),
        (LossKind.COMMUNICATION, Account.COMMUNICATION_OTHER),
    ):
        whole = int(totals[INDEX[account]])
        names, weights = in_calls.of_rank(position, is_known=kind is LossKind.TRANSFER)
        for name, ns in zip(names, whole_parts(whole, weights).tolist(), strict=True):
            yield LossCause(kind, operation=name), ns


@dataclass(frozen=True)
class Moments:
    """A partition of a rank's life, shape (moments,); activities are such as are no training.

    A sample's stack speaks for the time around it, and may so stand on the other side of where a
    phase begins or ends: `is_seen` where the sample itself lies. An activity it tells anywhere.
    """

    begin: Ints
    length: Ints
    account: npt.NDArray[np.uint8]
    phase: SmallCodes
    stack: SmallCodes
    activity: npt.NDArray[np.int8]
    is_seen: Bools

    @classmethod
    def of(
        cls, rank: Rank, timeline: Timeline, places: Functions, told: npt.NDArray[np.int8]
    ) -> Moments:
        """Those of a timeline; collections that were measured count for as long as they took."""
        found = activity_timeline(rank, timeline, told)
        account = timeline.accounts[found.segments]
        activity = places.not_training(found.stacks, account)
        activity[(found.activities == GARBAGE) & IS_TRAINING.take(account)] = GARBAGE
        return cls(
            found.boundaries[:-1],
            found.lengths,
            account,
            timeline.phases[found.segments],
            found.stacks,
            activity,
            _have_any(found.boundaries, rank.main_stacks["t"]),
        )

    def training_ns(self, focus: Focus) -> int:
        """Training work in the focus."""
        first, behind = np.searchsorted(self.begin, (focus.start_ns, focus.end_ns))
        inside = slice(first, behind)
        is_meant = IS_TRAINING.take(self.account[inside]) & (self.activity[inside] < 0)
        return int((self.length[inside] * is_meant).sum())


def _have_any(boundaries: Ints, moments: Ints) -> Bools:
    """Which pieces of a partition have some of the moments in them; all where there are none."""
    if not len(moments):
        return np.ones(len(boundaries) - 1, np.bool_)
    before = np.searchsorted(np.sort(moments), boundaries)
    return np.diff(before) > 0


def _other_work(
    results: Results, places: Places, moments: Moments
) -> Iterator[tuple[LossCause, int]]:
    """Work that is no training, by account, phase, function and activity."""
    here = np.flatnonzero(_WORK.take(moments.account) | (moments.activity >= 0))
    work = _Work(
        moments.account[here],
        moments.phase[here],
        places.functions_of(moments.stack[here]),
        moments.activity[here],
    )
    for cause, mine in work.causes(results, places):
        pieces = here[mine]
        seen = pieces[moments.is_seen[pieces] | (moments.activity[pieces] >= 0)]
        places.see(cause, moments.stack[seen], moments.length[seen])
        yield cause, int(moments.length[pieces].sum())


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


@dataclass(frozen=True)
class _InCalls:
    """What calls of the main locations took after the wait, in nanoseconds.

    By whether the wait is known, rank and operation code, shape (2, ranks, codes).
    """

    ns: Floats

    @classmethod
    def of(cls, results: Results) -> _InCalls:
        """Those in the focus."""
        waits, focus, ranks = results.waits, results.focus, results.trace.ranks
        pool, known = waits.pool, waits.known
        main_tid = np.array([rank.main_tid for rank in ranks])
        codes = int(pool.op.max(initial=0)) + 1
        found = np.zeros((len(ranks), 2, codes))
        for rows in blocks(len(pool)):  # whole nanoseconds: their sums are exact in any order
            rank, is_known = pool.rank[rows], known[rows]
            begin = np.where(is_known, waits.need[rows], pool.enter[rows])
            spent = np.minimum(pool.exit[rows], focus.end_ns) - np.maximum(begin, focus.start_ns)
            counts = (spent > 0) & (pool.tid[rows] == main_tid[rank])
            first, behind = int(rank[0]), int(rank[-1]) + 1  # rows come rank after rank
            cell = ((rank - first) * 2 + is_known) * codes + pool.op[rows]
            size = (behind - first) * 2 * codes
            told = np.bincount(cell[counts], spent[counts], size)
            found[first:behind] += told.reshape(-1, 2, codes)
        return cls(np.swapaxes(found, 0, 1))

    def of_rank(self, position: int, *, is_known: bool) -> tuple[list[str], Floats]:
        """The operations of a rank, and those nanoseconds of each; one without a name if none."""
        by_code = self.ns[int(is_known), position]
        codes = np.flatnonzero(by_code)
        if not len(codes):
            return [""], np.ones(1)
        return [name_of(int(code)) for code in codes], by_code[codes]


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
