"""From the trace of a run to the program that its replay runs, or the reason why there is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfscope.metrics.collectives import TO_ALL_CODES, TO_ROOT_CODES, Instances, match_collectives
from perfscope.metrics.ledger import IS_COMMUNICATION
from perfscope.metrics.pool import Bools, Pool
from perfscope.replay.kinds import call_kinds, segment_kinds
from perfscope.replay.meetings import Kind, Meetings
from perfscope.replay.program import Floats, Ints, Program, Work
from perfscope.replay.schedule import cut_table, schedule
from perfscope.trace.model import PhaseKind, Rank, RowFlag, Trace
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask, name_of

if TYPE_CHECKING:
    from perfscope.metrics.focus import Focus
    from perfscope.metrics.results import Results
    from perfscope.metrics.timeline import Timeline

# what a rank does by itself as far as the replay goes: it keeps its measured duration
ALONE = codes_mask(
    {
        OperationClass.INIT,
        OperationClass.FINALIZE,
        OperationClass.ABORT,
        OperationClass.COMMUNICATOR,
        OperationClass.LOCAL,
    }
)
REPLAYED = codes_mask(
    {OperationClass.N_TO_N, OperationClass.ONE_TO_N, OperationClass.N_TO_ONE},
)


class NotReplayableError(Exception):
    """The run cannot be replayed; the message says why, as a clause."""


@dataclass(frozen=True)
class _Calls:
    """The calls that are replayed, rank after rank in program order, clipped to the focus."""

    rank: Ints  # position of the rank
    enter: Ints
    exit: Ints
    kind: Ints  # equal where operation, communicator and size are alike
    end: Ints  # when each rank's own work ends, shape (ranks,)
    meetings: Meetings  # of the calls

    def of_rank(self, position: int) -> Ints:
        """The calls of one rank."""
        return np.flatnonzero(self.rank == position)


def extract(results: Results) -> Program:
    """The run inside the focus of analysis as a program.

    Raises:
        NotReplayableError: some ranks, records or partners are missing, or the run uses operations
            other than collectives on the main thread.
    """
    trace, focus = results.trace, results.focus
    if why := results.communication.clocks.reason:
        raise NotReplayableError(why)
    _refuse_gaps(trace, focus)
    pool = Pool.of(trace.ranks, [rank.operations for rank in trace.ranks])
    instances = match_collectives(trace, pool).instances
    chosen = _chosen_instances(pool, instances, focus)
    replayed = np.zeros(len(pool), dtype=bool)
    replayed[instances.members[chosen[instances.instance_of_member]]] = True
    pending = _pending(pool, replayed, focus)
    _refuse_others(trace, pool, replayed | pending, focus)
    return _program(results, _calls(trace, focus, pool, replayed, pending, instances, chosen))


def _refuse_gaps(trace: Trace, focus: Focus) -> None:
    if focus.length_ns <= 0:
        raise NotReplayableError("the focus of analysis is empty")
    if reason := trace.not_recorded.get("operations"):
        raise NotReplayableError(reason)
    if trace.missing_ranks:
        missing = ", ".join(str(number) for number in trace.missing_ranks[:8])
        raise NotReplayableError(f"there is no recording of rank {missing}")
    for rank in trace.ranks:
        if rank.detail_end_ns is not None and rank.detail_end_ns < focus.end_ns:
            raise NotReplayableError(
                f"records of rank {rank.number} were dropped (a larger --max-size keeps them)"
            )
        phases = rank.phases
        inside = (phases["t0"] < focus.end_ns) & (phases["t1"] > focus.start_ns)
        if np.any(inside & (phases["kind"] == PhaseKind.COMMUNICATION)):
            raise NotReplayableError(
                f"rank {rank.number} communicates outside the MPI calls of its main thread"
            )


def _inside(pool: Pool, focus: Focus) -> Bools:
    inside: Bools = (pool.enter < focus.end_ns) & (pool.exit > focus.start_ns)
    return inside


def _chosen_instances(pool: Pool, instances: Instances, focus: Focus) -> Bools:
    """Which instances overlap the focus on some rank and can be replayed."""
    if not len(instances):
        return np.zeros(0, dtype=bool)
    begin = instances.starts[:-1]
    inside = _inside(pool, focus)[instances.members]
    chosen: Bools = np.maximum.reduceat(inside.astype(np.int64), begin) > 0
    return chosen & REPLAYED[instances.op]


def _pending(pool: Pool, replayed: Bools, focus: Focus) -> Bools:
    """Calls in which a rank still waited for others when the focus or its life ended."""
    at_end = (pool.exit >= focus.end_ns) | ((pool.flags & RowFlag.OPEN) > 0)
    pending: Bools = _inside(pool, focus) & ~replayed & at_end & IS_COLLECTIVE[pool.op]
    return pending


def _refuse_others(trace: Trace, pool: Pool, explained: Bools, focus: Focus) -> None:
    inside = _inside(pool, focus)
    main_tids = np.array([rank.main_tid for rank in trace.ranks])
    elsewhere = inside & (pool.tid != main_tids[pool.rank]) & ~ALONE[pool.op]
    if np.any(elsewhere):
        raise NotReplayableError(
            f"{np.count_nonzero(elsewhere):,} MPI calls are made outside the main threads"
        )
    others = inside & ~explained & ~ALONE[pool.op]
    if np.any(others & REPLAYED[pool.op]):
        row = int(np.flatnonzero(others & REPLAYED[pool.op])[0])
        count = np.count_nonzero(others & REPLAYED[pool.op])
        raise NotReplayableError(
            f"{count:,} collective calls have no partners, the first of "
            f"{name_of(int(pool.op[row]))} on rank {trace.ranks[int(pool.rank[row])].number}"
        )
    if np.any(others):
        counts = Counter(name_of(int(code)) for code in pool.op[others])
        names = ", ".join(f"{name} ({count:,} calls)" for name, count in counts.most_common(3))
        raise NotReplayableError(f"only collectives can be replayed, and the run uses {names}")
    if len(trace.ranks) > 1 and not np.any(explained & inside):
        raise NotReplayableError("no collective was recorded on the main threads")


def _calls(
    trace: Trace,
    focus: Focus,
    pool: Pool,
    replayed: Bools,
    pending: Bools,
    instances: Instances,
    chosen: Bools,
) -> _Calls:
    rows = np.flatnonzero(replayed)
    call_of_row = np.cumsum(replayed) - 1
    members = instances.members[chosen[instances.instance_of_member]]
    sizes = np.diff(instances.starts)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    op = instances.op[chosen]
    kind = np.full(len(op), int(Kind.ALL))
    kind[TO_ALL_CODES[op]] = Kind.FROM_ROOT
    kind[TO_ROOT_CODES[op]] = Kind.TO_ROOT
    kind[instances.synchronising[chosen]] = Kind.ALL
    root = np.full(len(op), -1)
    is_root = np.flatnonzero(pool.peer[members] == pool.rank[members])
    root[np.repeat(np.arange(len(op)), sizes)[is_root]] = call_of_row[members[is_root]]
    if np.any((root < 0) & (kind != Kind.ALL)):
        raise NotReplayableError("the root of a collective is not known")
    ends = [_own_end(rank, place, focus, pool, pending) for place, rank in enumerate(trace.ranks)]
    return _Calls(
        rank=pool.rank[rows],
        enter=np.clip(pool.enter[rows], focus.start_ns, focus.end_ns),
        exit=np.clip(pool.exit[rows], focus.start_ns, focus.end_ns),
        kind=call_kinds(pool, rows),
        end=np.array(ends, dtype=np.int64),
        meetings=Meetings(call_of_row[members], starts, kind, root),
    )


def _own_end(rank: Rank, position: int, focus: Focus, pool: Pool, pending: Bools) -> int:
    """When a rank's own work ends: in finalisation, waiting for who never came, or its death."""
    end = min(focus.end_ns, rank.end_ns)
    if rank.finalize_enter_ns is not None:
        end = min(end, rank.finalize_enter_ns)
    waiting = np.flatnonzero(pending & (pool.rank == position))
    if len(waiting):
        end = min(end, int(pool.enter[waiting[0]]))
    return max(end, focus.start_ns)


def _program(results: Results, calls: _Calls) -> Program:
    """Lays out the rows: per rank its start, its collectives, its end."""
    trace = results.trace
    lengths = np.bincount(calls.rank, minlength=len(trace.ranks)) + 2
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    row_count = int(starts[-1])
    row_of_call = np.arange(len(calls.rank)) + 2 * calls.rank + 1
    fixed = np.zeros(row_count)
    pieces: list[tuple[Ints, Ints, Floats]] = []
    for position in range(len(trace.ranks)):
        timeline = results.timelines[position]
        row, account, ns = _gaps(timeline, results.focus, calls, position)
        row = row + starts[position] + 1
        busy = ~IS_COMMUNICATION[account]
        pieces.append((row[busy], account[busy], ns[busy]))
        np.add.at(fixed, row[~busy], ns[~busy])
    made = calls.meetings
    transfer = np.zeros(row_count)
    transfer[row_of_call[made.rows]] = calls.exit[made.rows] - made.needs(calls.enter)
    root = np.where(made.root >= 0, row_of_call[made.root], -1) if len(made) else made.root
    meetings = Meetings(row_of_call[made.rows], made.starts, made.kind, root)
    try:
        cut_rows = cut_table(meetings, starts)
        row_segment = _row_segments(cut_rows, starts)
        releases = schedule(meetings, cut_rows, row_segment)
    except ValueError as error:
        raise NotReplayableError(str(error)) from error
    return Program(
        ranks=tuple(rank.number for rank in trace.ranks),
        row_rank=np.repeat(np.arange(len(lengths)), lengths),
        row_segment=row_segment,
        segment_kind=_segment_kinds(results, calls, cut_rows),
        work=Work(*(np.concatenate(part) for part in zip(*pieces, strict=True))),
        fixed_ns=fixed,
        transfer_ns=transfer,
        cut_rows=cut_rows,
        releases=releases,
    )


def _segment_kinds(results: Results, calls: _Calls, cut_rows: Ints) -> Ints:
    """The kind of each segment, as the first rank saw the collectives around it."""
    own = calls.of_rank(0)
    rows = cut_rows[:, 0]
    kind = np.concatenate([[-1], calls.kind[own], [-2]])[rows]
    enter = np.concatenate([[results.focus.start_ns], calls.enter[own], [calls.end[0]]])[rows]
    starts = np.sort(results.trace.ranks[0].steps["t0"].astype(np.int64))
    return segment_kinds(kind, enter, starts)


def _gaps(
    timeline: Timeline, focus: Focus, calls: _Calls, position: int
) -> tuple[Ints, Ints, Floats]:
    """Work between the collectives of a rank: before which of its rows, account, nanoseconds."""
    boundaries, accounts = timeline.boundaries, timeline.accounts
    own = calls.of_rank(position)
    enters, exits, end = calls.enter[own], calls.exit[own], int(calls.end[position])
    # a piece of the partition that reaches over the edge of a collective is split there
    points = _merged(boundaries, enters, exits, np.array([focus.start_ns, end]))
    points = points[(points >= focus.start_ns) & (points <= end)]
    begin, ns = points[:-1], np.diff(points)
    piece = np.searchsorted(boundaries, begin, side="right") - 1
    row = np.searchsorted(exits, begin, side="right")
    in_call = np.zeros(len(begin), dtype=bool)
    has_next = row < len(enters)
    in_call[has_next] = begin[has_next] >= enters[row[has_next]]
    keep = (piece >= 0) & (piece < len(accounts)) & ~in_call
    account = accounts[piece[keep]].astype(np.int64)
    return row[keep].astype(np.int64), account, ns[keep].astype(np.float64)


def _merged(*sorted_parts: Ints) -> Ints:
    """All distinct values of arrays that are each in order; np.unique would hash millions first."""
    values = np.concatenate(sorted_parts)
    values.sort(kind="stable")
    is_first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values[is_first]


def _row_segments(cut_rows: Ints, starts: Ints) -> Ints:
    """Segment of each row: a closing cut belongs to the segment it ends."""
    segment = np.empty(int(starts[-1]), dtype=np.int64)
    for position in range(len(starts) - 1):
        rows = np.arange(starts[position], starts[position + 1])
        segment[rows] = np.searchsorted(cut_rows[1:, position], rows, side="left")
    return segment
