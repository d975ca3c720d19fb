"""Lays out the rows of a program: per rank its start, its calls, its end, and the work between."""

import numpy as np
import numpy.typing as npt

from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.engine import engine
from perfscope.matching.rendezvous import Calls
from perfscope.metrics.results import Results
from perfscope.replay.dependencies import Dependencies
from perfscope.replay.functions import Functions
from perfscope.replay.kinds import segment_kinds, segment_steps
from perfscope.replay.meetings import Meetings
from perfscope.replay.occurrences import Marks
from perfscope.replay.program import Floats, Ints, Needs, Program, Small, Work
from perfscope.replay.schedule import cut_table, is_cut
from perfscope.structures import dataclass

MOST_ROWS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Run:
    """The calls that are replayed, rank after rank in program order, and for whom each waits."""

    calls: Calls
    rank: npt.NDArray[np.integer]  # position of the rank, of each call
    op: npt.NDArray[np.uint16]
    kind: Ints  # of calls of the first rank: equal where operation, communicator, size are alike
    end: Ints  # when each rank's own work ends, shape (ranks,)
    meetings: Meetings  # of the calls
    finish_of: Ints  # of each call the one in which what it started completes, -1 not known
    messages: tuple[Ints, Ints]  # pairs (call, call for whose arrival it waits)

    def of_rank(self, position: int) -> slice:
        """The calls of one rank."""
        return slice(int(self.calls.starts[position]), int(self.calls.starts[position + 1]))


def lay_out(results: Results, run: Run) -> Program:
    """The rows of the run.

    Raises:
        ValueError: the ranks do not agree on the order of their calls.
    """
    trace, calls = results.trace, run.calls
    lengths = np.bincount(run.rank, minlength=len(trace.ranks)) + 2
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    row_count = _counted(int(starts[-1]))
    row_of_call = np.arange(len(run.rank)) + 2 * run.rank + 1
    marks = Marks.of(results)
    pieces = _pieces(results, run, starts, marks)
    transfer_ns = _transfer_ns(run, row_of_call, row_count)
    meetings = run.meetings.renumbered(row_of_call)
    cut_rows = cut_table(meetings, starts)
    enter = _cut_times(results, run, cut_rows)
    step_starts = np.sort(trace.ranks[0].steps["t0"].astype(np.int64))
    return Program(
        ranks=tuple(rank.number for rank in trace.ranks),
        row_rank=np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
        row_segment=_row_segments(cut_rows, starts),
        row_op=_scattered(run.op, row_of_call, row_count, fill=-1),
        segment_kind=segment_kinds(
            _cut_kinds(run, cut_rows),
            enter,
            step_starts if len(step_starts) else results.steps.starts_ns,
        ),
        work=pieces.work,
        phase=pieces.phase,
        stack=pieces.stack,
        fixed_ns=pieces.fixed_ns,
        transfer_ns=transfer_ns,
        cut_rows=cut_rows,
        needs=_needs(run, row_of_call, row_count),
        waits_at_end=_waits_at_end(results, run),
        phase_ids=results.phase_ids,
        begin_ns=pieces.begin_ns,
        pool_row=_scattered(calls.pool_row, row_of_call, row_count, fill=-1),
        segment_step=segment_steps(enter, step_starts),
        marks=marks,
        functions=Functions.of(results, pieces.stack, pieces.work.account),
    )


def _counted(rows: int) -> int:
    """The number of rows, which have numbers of 32 bits."""
    if rows > MOST_ROWS:
        raise ValueError(f"it has more than {MOST_ROWS:,} calls")
    return rows


def _scattered(values: npt.NDArray[np.integer], places: Ints, count: int, *, fill: int) -> Small:
    result = np.full(count, fill, np.int32)
    result[places] = values
    return result


def _transfer_ns(run: Run, places: Ints, count: int) -> Floats:
    """What each call took once all that it waits for had come."""
    calls = run.calls
    need = Dependencies.of(run.meetings, run.finish_of, *run.messages).needs(calls.enter)
    result = np.zeros(count)
    result[places] = calls.exit - need
    return result


def _needs(run: Run, row_of_call: Ints, row_count: int) -> Needs:
    """For whom the rows wait that are no cuts."""
    meetings = run.meetings.without(is_cut(run.meetings, len(run.end)))
    if not len(meetings) and not len(run.messages[0]):
        return Needs.none(row_count)
    found = Dependencies.of(meetings, run.finish_of, *run.messages)
    return found.renumbered(row_of_call).laid_out(row_count)


def _waits_at_end(results: Results, run: Run) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Ranks whose work ends because they finalize."""
    entered = [rank.finalize_enter_ns for rank in results.trace.ranks]
    ends = run.end.tolist()
    return np.array([e is not None and e == end for e, end in zip(entered, ends, strict=True)])


@dataclass(frozen=True)
class _Pieces:
    """The time between calls: pieces of work with what they were, and communication alone."""

    work: Work
    phase: Small
    stack: Small
    begin_ns: Ints
    fixed_ns: Floats


def _pieces(results: Results, run: Run, starts: Ints, marks: Marks) -> _Pieces:
    edges = np.searchsorted(marks.column, np.arange(len(starts)))  # marks come rank after rank
    ranks = [
        (
            timeline.boundaries,
            timeline.accounts,
            timeline.phases,
            timeline.stacks,
            run.calls.enter[run.of_rank(position)],
            run.calls.exit[run.of_rank(position)],
            # of two phases in a row each has its own pieces
            marks.begin[edges[position] : edges[position + 1]],
            int(run.end[position]),
            int(starts[position]) + 1,
        )
        for position, timeline in enumerate(results.timelines)
    ]
    row, account, ns, phase, stack, begin, fixed = engine.work_pieces(
        ranks, results.focus.start_ns, IS_COMMUNICATION.view(np.uint8), int(starts[-1])
    )
    return _Pieces(Work(row, account, ns), phase, stack, begin, fixed)


def _cut_kinds(run: Run, cut_rows: Ints) -> Ints:
    """The kind of the collective at each cut, as the first rank saw it."""
    kinds: Ints = np.concatenate([[-1], run.kind, [-2]])[cut_rows[:, 0]]
    return kinds


def _cut_times(results: Results, run: Run, cut_rows: Ints) -> Ints:
    """When the first rank came to each cut."""
    own = run.calls.enter[run.of_rank(0)]
    times: Ints = np.concatenate([[results.focus.start_ns], own, [run.end[0]]])[cut_rows[:, 0]]
    return times


def _row_segments(cut_rows: Ints, starts: Ints) -> Small:
    """Segment of each row: a closing cut belongs to the segment it ends."""
    segment = np.zeros(int(starts[-1]), np.int32)  # of what begins, too
    number = np.arange(len(cut_rows) - 1, dtype=np.int32)
    for position, first in enumerate((starts[:-1] + 1).tolist()):
        rows = np.diff(cut_rows[:, position])
        segment[first : int(starts[position + 1])] = np.repeat(number, rows)
    return segment
