"""Lays out the rows of a program: per rank its start, its calls, its end, and the work between."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Int32s, Ints, SmallCodes, joined, narrowed, neighbors
from perfscope.attribution.activities import stack_activities
from perfscope.attribution.activity_timeline import GARBAGE, activity_timeline
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import MOST_AT_ONCE, Timeline
from perfscope.engine import engine
from perfscope.matching.pool import Pool
from perfscope.matching.rendezvous import Calls
from perfscope.metrics.host.cpu_delay import cpu_delays
from perfscope.metrics.results import Results
from perfscope.packed import PackedTimes, Stretches
from perfscope.replay.dependencies import Dependencies
from perfscope.replay.functions import Functions
from perfscope.replay.kinds import call_kinds, segment_kinds, segment_steps
from perfscope.replay.meetings import Kind, Meetings
from perfscope.replay.occurrences import Marks
from perfscope.replay.program import Fixed, Needs, Program, Work
from perfscope.structures import dataclass
from perfscope.trace.model import Rank

MOST_ROWS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Run:
    """The calls that are replayed, rank after rank in program order, and for whom each waits."""

    calls: Calls
    rank: npt.NDArray[np.integer]  # position of the rank, of each call
    op: npt.NDArray[np.uint16]
    end: Ints  # when each rank's own work ends, shape (ranks,)
    meetings: Meetings  # of the calls
    messages: tuple[Ints, Ints]  # pairs (call, call for whose arrival it waits)


@dataclass(frozen=True)
class _Rows:
    """The rows without the work before them; as in a program."""

    rank: SmallCodes
    op: SmallCodes
    pool_row: Int32s
    transfer_ns: Floats
    cut_rows: Ints
    needs: Needs

    @classmethod
    def of(cls, run: Run, starts: Ints) -> _Rows:
        """Those of a run, of whose ranks each begins with a row of `starts`."""
        row_of_call = np.arange(1, len(run.rank) + 1, dtype=np.int32)
        row_of_call += run.rank  # each rank has two rows more than calls
        row_of_call += run.rank
        cut_rows = cut_table(run.meetings.renumbered(row_of_call), starts)
        ranks = narrowed(np.arange(len(starts) - 1))
        return cls(
            transfer_ns=_transfer_ns(run, starts),
            needs=_needs(run, row_of_call, int(starts[-1])),
            rank=np.repeat(ranks, np.diff(starts)),
            op=narrowed(_in_rows(run.op, run, starts, np.int32(-1))),
            pool_row=_in_rows(run.calls.pool_row, run, starts, np.int32(-1)),
            cut_rows=cut_rows,
        )


@dataclass(frozen=True)
class _Times:
    """When the calls began and ended, rank after rank, and each rank's own work."""

    enter: Ints
    exit: Ints
    starts: Ints
    end: Ints

    def of_rank(self, position: int) -> slice:
        """The calls of one rank."""
        return slice(int(self.starts[position]), int(self.starts[position + 1]))


def lay_out(results: Results, run: Run) -> Program:
    """The rows of the run.

    Raises:
        ValueError: the ranks do not agree on the order of their calls.
    """
    trace, calls = results.trace, run.calls
    lengths = np.diff(calls.starts) + 2
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    _check_count(int(starts[-1]))
    rows = _Rows.of(run, starts)
    times = _Times(calls.enter, calls.exit, calls.starts, run.end)
    del run, calls  # much of a long run, and its rows have it by now
    marks = Marks.of(results)
    enter = _cut_times(results, times, rows.cut_rows)
    step_starts = np.sort(trace.ranks[0].steps["t0"].astype(np.int64))
    segment_kind = segment_kinds(
        _cut_kinds(results.waits.pool, rows),
        enter,
        step_starts if len(step_starts) else results.steps.starts_ns,
    )
    pieces = _pieces(results, times, starts, marks)
    return Program(
        ranks=tuple(rank.number for rank in trace.ranks),
        row_rank=rows.rank,
        row_op=rows.op,
        segment_kind=segment_kind,
        work=pieces.work,
        phase=pieces.phase,
        stack=pieces.stack,
        fixed=pieces.fixed,
        transfer_ns=rows.transfer_ns,
        cut_rows=rows.cut_rows,
        needs=rows.needs,
        waits_at_end=_waits_at_end(results, times),
        phase_ids=results.phase_ids,
        begin_ns=PackedTimes(pieces.begin_ns),
        pool_row=Stretches(rows.pool_row, step=1),
        segment_step=segment_steps(enter, step_starts),
        marks=marks,
        functions=Functions.of(results, pieces.stack, pieces.work.account, pieces.collects),
        find_delays=partial(cpu_delays, results),
    )


def _check_count(rows: int) -> None:
    """Rows have numbers of 32 bits."""
    if rows > MOST_ROWS:
        raise ValueError(f"it has more than {MOST_ROWS:,} calls")


def _in_rows(values: npt.NDArray[np.integer], run: Run, starts: Ints, other: Any) -> Any:
    """What calls have, in the type of what their ranks' starts and ends have instead of it."""
    result = np.full(int(starts[-1]), other)
    edges = run.calls.starts.tolist()
    for rank, first in enumerate((starts[:-1] + 1).tolist()):
        own = values[edges[rank] : edges[rank + 1]]
        result[first : first + len(own)] = own
    return result


def _transfer_ns(run: Run, starts: Ints) -> Floats:
    """What each call took once all that it waits for had come."""
    calls = run.calls
    need = Dependencies.of(run.meetings, *run.messages).needs(calls.enter)
    np.subtract(calls.exit, need, out=need)
    found: Floats = _in_rows(need, run, starts, np.float64(0.0))
    return found


def _needs(run: Run, row_of_call: Int32s, row_count: int) -> Needs:
    """For whom the rows wait that are no cuts."""
    meetings = run.meetings.without(is_cut(run.meetings, len(run.end)))
    if not len(meetings) and not len(run.messages[0]):
        return Needs.none(row_count)
    return Dependencies.of(meetings, *run.messages).laid_out(row_of_call, row_count)


def _waits_at_end(results: Results, times: _Times) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Ranks whose work ends because they finalize."""
    entered = [rank.finalize_enter_ns for rank in results.trace.ranks]
    ends = times.end.tolist()
    return np.array([e is not None and e == end for e, end in zip(entered, ends, strict=True)])


@dataclass(frozen=True)
class _Pieces:
    """The time between calls: pieces of work with what they were, and communication alone."""

    work: Work
    phase: SmallCodes
    stack: SmallCodes
    begin_ns: Ints
    fixed: Fixed
    collects: Bools  # where Python's garbage collector was heard


def _pieces(results: Results, times: _Times, starts: Ints, marks: Marks) -> _Pieces:
    """Some ranks at once, as those whose collector was heard need timelines of their own."""
    cut = [
        len(line.accounts) if len(rank.garbage_collections) else 0
        for rank, line in zip(results.trace.ranks, results.timelines, strict=True)
    ]
    found = [
        list(_columns_of(results, times, starts, marks, positions))
        for positions in neighbors(cut, MOST_AT_ONCE)
    ]
    row, account, ns, phase, stack, begin, fixed_row, fixed_ns, collects = (
        joined([own.pop(0) for own in found]) for _ in range(len(found[0]))
    )
    work, fixed = Work(row, account, ns), Fixed(fixed_row, fixed_ns)
    return _Pieces(work, phase, stack, begin, fixed, collects)


def _columns_of(
    results: Results, times: _Times, starts: Ints, marks: Marks, positions: range
) -> tuple[npt.NDArray[Any], ...]:
    """The columns of the pieces of neighboring ranks, rank after rank."""
    first_rows = starts[positions.start : positions.stop + 1]
    first = int(first_rows[0])
    # marks come rank after rank
    edges = np.searchsorted(marks.column, np.arange(positions.start, positions.stop + 1))
    lives = [_life(results, position) for position in positions]
    ranks = [
        (
            *life.columns,
            times.enter[times.of_rank(position)],
            times.exit[times.of_rank(position)],
            # of two phases in a row each has its own pieces
            marks.begin[edges[place] : edges[place + 1]],
            int(times.end[position]),
            int(starts[position]) + 1 - first,
        )
        for place, (position, life) in enumerate(zip(positions, lives, strict=True))
    ]
    row, account, ns, phase, stack, begin, fixed_ns = engine.work_pieces(
        ranks,
        results.focus.start_ns,
        IS_COMMUNICATION.view(np.uint8),
        int(first_rows[-1]) - first,
    )
    row += np.int32(first)
    fixed = Fixed.of(fixed_ns)
    # numbers of two widths would make a wide copy of the column
    collects = _collects(lives, begin, np.searchsorted(row, first_rows.astype(row.dtype)))
    return row, account, ns, phase, stack, begin, fixed.row + np.int32(first), fixed.ns, collects


@dataclass(frozen=True)
class _Life:
    """One rank's timeline, cut where Python's garbage collector begins and ends to collect."""

    columns: tuple[Ints, npt.NDArray[np.uint8], SmallCodes, SmallCodes]
    collects: Bools | None = None  # None: nowhere


def _life(results: Results, position: int) -> _Life:
    """That of a rank; of one that was not listened to, its timeline as it is."""
    rank, line = results.trace.ranks[position], results.timelines[position]
    if not len(rank.garbage_collections) or not len(line.accounts):
        return _Life((line.boundaries, line.accounts, line.phases, line.stacks))
    told = stack_activities(results.trace)
    parts = [_heard(rank, part, told) for part in line.parts()]
    begin, accounts, phases, stacks, collects = map(joined, zip(*parts, strict=True))
    boundaries = np.append(begin, line.boundaries[-1])
    return _Life((boundaries, accounts, phases, stacks), collects)


def _heard(rank: Rank, part: Timeline, told: npt.NDArray[np.int8]) -> tuple[npt.NDArray[Any], ...]:
    """Begin, account, phase, stack of a timeline's segments, and whether they are collections."""
    found = activity_timeline(rank, part, told)
    accounts, phases = part.accounts[found.segments], part.phases[found.segments]
    return found.boundaries[:-1], accounts, phases, found.stacks, found.activities == GARBAGE


def _collects(lives: Sequence[_Life], begin: Ints, edges: Ints) -> Bools:
    """Which pieces are collections, of ranks whose pieces lie between edges."""
    result = np.zeros(len(begin), np.bool_)
    for life, first, behind in zip(lives, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if life.collects is not None:
            at = np.searchsorted(life.columns[0], begin[first:behind], side="right") - 1
            result[first:behind] = life.collects[at]
    return result


def _cut_kinds(pool: Pool, rows: _Rows) -> Ints:
    """The kind of the collective at each cut: equal where operation, communicator, size are."""
    kinds = call_kinds(pool, rows.pool_row[rows.cut_rows[1:-1, 0]])
    return np.concatenate([[-1], kinds, [-2]])


def _cut_times(results: Results, times: _Times, cut_rows: Ints) -> Ints:
    """When the first rank came to each cut."""
    own = times.enter[times.of_rank(0)]
    found: Ints = np.concatenate([[results.focus.start_ns], own, [times.end[0]]])[cut_rows[:, 0]]
    return found


INCONSISTENT = "the ranks enter the same collectives in different orders"


def cut_table(meetings: Meetings, starts: Ints) -> Ints:
    """Rows of every collective that holds all ranks, framed by starts and ends: (cuts + 2, ranks).

    `starts` has the first row of each rank, and one past the last row.

    Raises:
        ValueError: the ranks do not agree on the order.
    """
    ranks = len(starts) - 1
    rows = meetings.rows[is_cut(meetings, ranks)[meetings.instance]].reshape(-1, ranks)
    # columns in the order of the ranks, whatever their order in the communicator
    cuts = np.sort(rows, axis=1)
    if np.any(cuts[1:, 0] < cuts[:-1, 0]):
        cuts = cuts[np.argsort(cuts[:, 0], kind="stable")]
    table = np.concatenate([starts[None, :-1], cuts, starts[None, 1:] - 1])
    if np.any(np.diff(table, axis=0) <= 0):
        raise ValueError(INCONSISTENT)
    return table


def is_cut(meetings: Meetings, ranks: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which meetings hold all ranks, block, and let nobody go before all have come."""
    whole = (np.diff(meetings.starts) == ranks) & (meetings.kind == Kind.ALL)
    result: np.ndarray[tuple[int], np.dtype[np.bool_]] = whole & meetings.blocking
    result[meetings.instance[meetings.silent]] = False
    return result
