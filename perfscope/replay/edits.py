"""Edits applied to the work of a program: what each rank would have done after a change."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypedDict

import numpy as np

from perfscope.arrays import Bools, Floats, Int32s, Ints, SmallCodes
from perfscope.attribution.ledger import ACCOUNTS, INDEX
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.engine import engine
from perfscope.matching.pool import dense
from perfscope.replay.kept_workers import with_kept_workers
from perfscope.replay.leveling import leveled
from perfscope.replay.model import Edit, Level
from perfscope.replay.occurrences import factors
from perfscope.replay.program import Codes, Program, Work
from perfscope.schema.enums import Account

WAITING = (INDEX[Account.INPUT_WAIT], INDEX[Account.DEVICE_WAIT])
"""Accounts in which a rank waits for something else than a rank: no work that can be leveled."""

_EVERY = np.ones(len(ACCOUNTS), np.bool_)
_IS_WORK = ~np.isin(np.arange(len(ACCOUNTS)), WAITING)
_ANY_PHASE, _NO_SUCH_PHASE = -2, -3


class _Choice(TypedDict):
    """What pieces must be of to be chosen."""

    ranks: Codes
    accounts: Codes
    phase: int


class Levelable:
    """What leveling chooses of some work, and what that adds up to by segment and rank.

    Several questions in a row level the same work in different ways.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self._found: dict[Edit, tuple[Bools, Floats]] = {}

    def of(self, program: Program, edit: Edit) -> tuple[Bools, Floats]:
        """Of an edit, whichever ranks it is about and however it levels."""
        what = replace(edit, ranks=None, level=Level.SHARED)
        if what not in self._found:
            self._found.clear()  # a long run has room for one
            chosen = _chosen(program, self.work, what)
            self._found[what] = chosen, _totals(program, self.work, chosen)
        return self._found[what]


def apply_edits(
    program: Program,
    edits: Sequence[Edit],
    *,
    to: Work | None = None,
    levelable: Levelable | None = None,
) -> Work:
    """The work of the program, or what it has become, after edits, one after the other.

    `levelable` may be kept from question to question, and counts for the work that it is of.
    """
    work = program.work if to is None else to
    for is_sampled, some in groupby(edits, key=_is_sampled):
        if is_sampled:
            work = _without_seen(program, work, list(some))
            continue
        for edit in some:
            work = _edited(program, work, edit, levelable)
    return work


def _edited(program: Program, work: Work, edit: Edit, levelable: Levelable | None) -> Work:
    known = levelable if levelable is not None and levelable.work is work else Levelable(work)
    return _apply(program, work, edit, known)


def by_segment(program: Program, work: Work) -> Floats:
    """Work by segment and rank without waiting for input or devices, shape (segments, ranks)."""
    return _totals(program, work, _IS_WORK[work.account])


def _apply(program: Program, work: Work, edit: Edit, levelable: Levelable) -> Work:
    if edit.level is None:
        return _scaled(program, work, edit)
    of_all, totals = levelable.of(program, edit)
    if not totals.any():
        return work
    target = leveled(
        totals, level=edit.level, columns=_columns(program, edit), kinds=program.segment_kind
    )
    chosen = of_all if edit.ranks is None else _chosen(program, work, edit)
    return _rescale(program, work, edit, chosen, totals, target)


def _scaled(program: Program, work: Work, edit: Edit) -> Work:
    """The work after an edit that levels nothing."""
    factor = 0.0 if edit.background else edit.factor
    if edit.keeps_workers:
        ns = work.ns * _turned(program, work, edit)
    elif edit.waits_for_cpu:
        ns = _less_waiting(program, work, edit)
    elif edit.keep_every is not None:
        chosen = _chosen(program, work, edit)
        ns = np.where(chosen, work.ns * _kept(program, work, edit, chosen), work.ns)
    elif factor == 1.0:
        return work
    elif edit.until_ns is not None:
        ns = np.where(_chosen(program, work, edit), work.ns * factor, work.ns)
    else:
        columns, choice = _asked(program, work, edit)
        ns = engine.scaled(*columns, **choice, ns=work.ns, factor=factor)
    return replace(work, ns=ns)


def _less_waiting(program: Program, work: Work, edit: Edit) -> Floats:
    """What is left of each piece where waiting for a CPU in it is scaled, shape (pieces,).

    Of what other edits left of a piece, as large a share is waiting as it was.
    """
    before, waited = program.work.ns, program.waited_ns
    share = np.divide(waited, before, out=np.zeros_like(before), where=before > 0)
    factor = np.ones(len(work.ns))  # pieces that an edit added hold none
    factor[: len(share)] = 1.0 - (1.0 - edit.factor) * share
    return np.where(_chosen(program, work, edit), work.ns * factor, work.ns)


def _turned(program: Program, work: Work, edit: Edit) -> Floats:
    """What is left of each piece where workers of loaders stay, shape (pieces,)."""
    result = np.ones(len(work.row))
    marks, begin = program.marks, program.begin_ns
    if marks is not None and begin is not None:
        chosen = _chosen(program, work, replace(edit, account=Account.INPUT_WAIT))
        here = np.flatnonzero(chosen[: len(begin)])
        column = program.row_rank[work.row[here]].astype(np.int64)
        result[here] = with_kept_workers(marks, edit.factor, column, begin.at(here))
    return result


def _is_sampled(edit: Edit) -> bool:
    """Whether an edit scales what samples tell: that of a function, or of an activity."""
    is_scaled = edit.level is None and edit.keep_every is None and not edit.keeps_workers
    return is_scaled and (edit.function is not None or edit.activity is not None)


def tells_apart(before: Sequence[Edit], edits: Sequence[Edit]) -> bool:
    """Whether what edits do to work after others is what both together do to the work before.

    It is not where both are of what samples tell of the same pieces.
    """
    return not (before and edits and _is_sampled(before[-1]) and _is_sampled(edits[0]))


def _without_seen(program: Program, work: Work, edits: Sequence[Edit]) -> Work:
    """The work after edits of what samples tell, all of which are about the same pieces.

    A sample speaks for all of a short piece, and for others like it. What is seen in a third of the
    pieces of a kind is a third of each: which one it was in is chance. Pieces are alike that are
    of the same rank, account and kind of segment, before calls with about as much work; whether
    work belongs to a phase of training, samples may tell as well. What several edits take of a kind
    is what they take of its pieces as the samples tell them; none of it is taken before or after
    the stretch of the run in which they tell them of it.
    """
    after = work.ns.copy()
    for edit in edits:
        after[_chosen(program, work, edit)] *= 0.0 if edit.background else edit.factor
    spent = program.before_rows(work, work.ns)
    size = np.log2(np.maximum(spent[work.row], 1.0)).astype(np.int64)
    kind = program.segment_kind[program.row_segment[work.row]]
    account = np.where(IS_TRAINING[work.account], len(ACCOUNTS), work.account)
    alike = dense(program.row_rank[work.row], account, kind, size)
    alike = dense(alike, _is_within(alike, work.row, after != work.ns).view(np.uint8))
    whole, left = np.bincount(alike, work.ns), np.bincount(alike, after)
    share = np.divide(left, whole, out=np.ones_like(left), where=whole > 0)
    return replace(work, ns=work.ns * share[alike])


def _is_within(alike: Ints, row: Int32s, seen: Bools) -> Bools:
    """Which pieces lie in the stretch of their kind in which some are seen, shape (pieces,).

    From the first to the last one, and on both sides as much more as lies between two of them on
    average; the whole run where there is only one. `row` tells the order in time.
    """
    kinds = int(alike.max(initial=-1)) + 1
    count = np.bincount(alike[seen], minlength=kinds)
    first, last = np.full(kinds, np.inf), np.full(kinds, -np.inf)
    np.minimum.at(first, alike[seen], row[seen])
    np.maximum.at(last, alike[seen], row[seen])
    beyond = np.where(count == 1, np.inf, 0.0)
    several = count > 1
    beyond[several] = (last[several] - first[several]) / (count[several] - 1)
    begin, end = first - beyond, last + beyond
    return np.asarray((row >= begin[alike]) & (row <= end[alike]))


def _kept(program: Program, work: Work, edit: Edit, chosen: Bools) -> Floats:
    """What is left of each piece when every so many-th time is kept, shape (pieces,)."""
    result = np.ones(len(work.row))
    column, number = program.row_rank[work.row[chosen]], _times(program, work, edit)[chosen]
    result[chosen] = factors(column, number, work.ns[chosen], edit.keep_every or 1)
    return result


def _times(program: Program, work: Work, edit: Edit) -> Ints:
    """Which time of its rank each piece belongs to, from 1, of what an edit thins out; 0 unknown.

    Shape (pieces,).
    """
    result = np.zeros(len(work.row), np.int64)
    marks, begin = program.marks, program.begin_ns
    if marks is not None and begin is not None:
        column = program.row_rank[work.row[: len(begin)]]
        chosen = marks.chosen(edit, program.phase_ids)
        result[: len(begin)] = marks.numbers(chosen, column, begin.all())
    return result


def are_times_unknown(program: Program, edits: Sequence[Edit]) -> bool:
    """Whether an edit thins out work whose single times are not known apart."""
    work = program.work
    return any(
        bool(np.any(_chosen(program, work, edit) & (_times(program, work, edit) == 0)))
        for edit in edits
        if edit.keep_every is not None
    )


def _columns(program: Program, edit: Edit) -> Bools:
    """Which ranks an edit touches, shape (ranks,)."""
    if edit.ranks is None:
        return np.ones(len(program.ranks), dtype=bool)
    return np.isin(np.asarray(program.ranks), edit.ranks)


def _asked(
    program: Program, work: Work, edit: Edit
) -> tuple[tuple[Int32s, Codes, Int32s, SmallCodes], _Choice]:
    """Columns of the work, and what of it an edit asks for, as the engine takes them."""
    accounts = _EVERY if edit.level is None else _IS_WORK
    if edit.account is not None:
        accounts = np.arange(len(ACCOUNTS)) == INDEX[edit.account]
    return (work.row, work.account, program.row_rank, program.phase), {
        "ranks": _columns(program, edit).view(np.uint8),
        "accounts": accounts.view(np.uint8),
        "phase": _place_of_phase(program, edit.phase),
    }


def _chosen(program: Program, work: Work, edit: Edit) -> Bools:
    """Which pieces of work an edit touches, shape (pieces,)."""
    columns, choice = _asked(program, work, edit)
    chosen = engine.chosen_pieces(*columns, **choice).view(np.bool_)
    if edit.function is not None:
        chosen = chosen & program.functions.is_of(edit.function, len(work.row))
    if edit.activity is not None:
        chosen = chosen & program.functions.shows(edit.activity, len(work.row))
    if edit.until_ns is not None:
        chosen = chosen & _before(program, work, edit.until_ns)
    return chosen


def _before(program: Program, work: Work, until_ns: tuple[int, ...]) -> Bools:
    """Which pieces of work began before a moment of their rank; what an edit added did not."""
    result = np.zeros(len(work.row), dtype=bool)
    if program.begin_ns is not None:
        known = len(program.begin_ns)
        moments = np.asarray(until_ns, np.int64)[program.row_rank[work.row[:known]]]
        result[:known] = program.begin_ns.all() < moments
    return result


def _place_of_phase(program: Program, phase: str | None) -> int:
    """Its place among the phases as the engine takes it; pieces that an edit added are of none."""
    if phase is None:
        return _ANY_PHASE
    return program.phase_ids.index(phase) if phase in program.phase_ids else _NO_SUCH_PHASE


def background_end_ns(program: Program, edits: Sequence[Edit], lengths: Floats) -> float:
    """When the last work that was moved to the background ends, from the start of the run.

    Each rank has one such location. What a segment holds begins with the segment, at the earliest
    when what was moved before has ended.

    `lengths` are those of the segments after the edits, in nanoseconds.
    """
    work, last = program.work, 0.0
    starts = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
    for edit in edits:
        if edit.background:
            moved = _totals(program, work, _chosen(program, work, edit))
            ends = np.zeros(moved.shape[1])
            for segment in np.flatnonzero(moved.sum(axis=1) > 0).tolist():
                here = moved[segment] > 0
                begins = np.maximum(ends[here], starts[segment])
                ends[here] = begins + moved[segment, here]
            last = max(last, float(ends.max(initial=0.0)))
        work = apply_edits(program, [edit], to=work)
    return last


def _totals(program: Program, work: Work, chosen: Bools) -> Floats:
    """Chosen work by segment and rank in nanoseconds, shape (segments, ranks)."""
    ranks = len(program.ranks)
    totals = engine.work_by_cell(
        work.row, work.ns, chosen.view(np.uint8), program.cuts, ranks=ranks
    )
    return totals.reshape(-1, ranks)


def _rescale(
    program: Program, work: Work, edit: Edit, chosen: Bools, totals: Floats, target: Floats
) -> Work:
    """Scales the chosen pieces to add up to the target; a rank without any gets a new piece."""
    ns = engine.rescaled(
        work.row,
        work.ns,
        chosen.view(np.uint8),
        program.cuts,
        ranks=len(program.ranks),
        totals=totals.ravel(),
        targets=np.ascontiguousarray(target).ravel(),
    )
    segment, column = np.nonzero((totals <= 0) & (target > 0))
    if not len(segment):
        return Work(work.row, work.account, ns)
    # before the closing cut: there it delays nobody inside the segment but the rank itself
    rows = program.cut_rows[segment + 1, column].astype(np.int32)
    account = INDEX[edit.account or Account.COMPUTATION]
    return Work(
        np.concatenate([work.row, rows]),
        np.concatenate([work.account, np.full(len(rows), account, np.uint8)]),
        np.concatenate([ns, target[segment, column]]),
    )
