"""Infers the steps of a program that marks none: what repeats in its calls, else in its samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.call_loops import depths, loops_around, nested_loops
from perfscope.attribution.counted_turns import turns_counted
from perfscope.attribution.cycles import (
    LITTLE,
    MIN_PERIODS,
    NONE,
    OFTEN,
    are_by_lot,
    is_steady,
    outer_is_step,
)
from perfscope.attribution.focus import Focus
from perfscope.attribution.outer_turns import around
from perfscope.attribution.repeated_calls import Calls, step_marks
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.matching.codes import N_TO_N_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import Pool, dense
from perfscope.matching.waits import Waits
from perfscope.structures import dataclass
from perfscope.trace.model import Function, Rank, Trace
from perfscope.trace.operations import IS_COLLECTIVE, REDUCES, OperationClass, codes_mask

MOST_RANKS = 8
"""So many ranks are looked at: the stages of a pipeline do the same on all of theirs."""

LEAST_SHARE = 0.25
"""Of the window: what repeats for less of it is not what the program does."""


_MESSAGES = codes_mask(
    [
        OperationClass.SEND,
        OperationClass.RECV,
        OperationClass.SENDRECV,
        OperationClass.ISEND,
        OperationClass.IRECV,
        OperationClass.PERSISTENT,
        OperationClass.NEIGHBORHOOD,
        OperationClass.I_NEIGHBORHOOD,
        OperationClass.ONE_SIDED,
    ]
)
_CALLS = IS_COLLECTIVE & ~codes_mask(
    [OperationClass.COMMUNICATOR, OperationClass.INIT, OperationClass.FINALIZE]
)
_CALLS |= _MESSAGES


@dataclass(frozen=True)
class Periods:
    """When each rank finished each period, shape (periods, ranks), and what showed it.

    `source` is `collectives` (of all ranks), `communication` (each rank's own calls) or `samples`.
    """

    ends: Times
    source: str

    @property
    def turns(self) -> int:
        """How often the loop turned: once for each call that marks it; samples lie between two."""
        return len(self.ends) + (self.source == "samples")


def _looked_at(trace: Trace) -> list[int]:
    """The places of some of the ranks, from the first to the last."""
    chosen: list[int]
    chosen = np.unique(np.linspace(0, len(trace.ranks) - 1, MOST_RANKS).astype(np.int64)).tolist()
    return chosen


def of_calls(trace: Trace, waits: Waits, focus: Focus) -> Periods | None:
    """Periods of the calls that each rank makes, whatever they are."""
    is_whole, pool, around = _of_all_ranks(trace), waits.pool, loops_around(trace)
    own = dict[int, Ints]()
    for place in _looked_at(trace):
        rows = np.arange(pool.offsets[place], pool.offsets[place + 1])
        rows = rows[_CALLS[pool.op[rows]] & (pool.tid[rows] == trace.ranks[place].main_tid)]
        inside = (pool.enter[rows] >= focus.start_ns) & (pool.exit[rows] <= focus.end_ns)
        own[place] = _of_rank(pool, rows[inside], is_whole, trace.ranks[place], around)
    ends = _together(own, len(trace.ranks), focus)
    if not ends:
        return None
    common = _common_ends(waits, is_whole, ends[0])
    return Periods(ends[0], "communication") if common is None else Periods(common, "collectives")


def _of_all_ranks(trace: Trace) -> Bools:
    """Which communicators all ranks are in."""
    numbers = {rank.number for rank in trace.ranks}
    return np.array([set(one.members) == numbers for one in trace.communicators], np.bool_)


def _common_ends(waits: Waits, is_whole: Bools, ends: Times) -> Times | None:
    """When each rank left the collectives of all that end the periods; None where others do."""
    pool, instances = waits.pool, waits.instances
    wanted = np.flatnonzero(is_whole[instances.comm] & N_TO_N_CODES[instances.op])
    rows = instances.members[instances.starts[wanted][:, None] + np.arange(ends.shape[1])]
    exits: Times = pool.exit[rows]
    for place in range(ends.shape[1]):
        order = np.argsort(exits[:, place])
        at = np.searchsorted(exits[order, place], ends[:, place])
        at = order[np.minimum(at, len(order) - 1)] if len(order) else np.empty(0, np.int64)
        if len(at) and np.array_equal(exits[at, place], ends[:, place]):
            return exits[at]
    return None


def of_samples(trace: Trace, focus: Focus) -> Periods | None:
    """Periods that samples show: of the variables that count turns, else of lines.

    An earlier line is the next turn of a loop.
    """
    places = range(min(MOST_RANKS, len(trace.ranks)))
    nested = nested_loops(trace)
    if nested:
        found = {place: turns_counted(trace.ranks[place], nested, focus) for place in places}
        if ends := _together(found, len(trace.ranks), focus):
            return Periods(ends[0], "samples")
    user = np.array([is_user_file(frame.file) for frame in trace.frames], np.bool_)
    found = {place: _turns(trace, trace.ranks[place], focus, user) for place in places}
    ends = _together(found, len(trace.ranks), focus)
    return Periods(ends[0], "samples") if ends else None


def _of_rank(pool: Pool, rows: Ints, is_whole: Bools, rank: Rank, around: Ints) -> Ints:
    """When those of a rank's calls ended that mark its periods."""
    if len(rows) < MIN_PERIODS:
        return NONE
    enter, leave = pool.enter[rows], pool.exit[rows]
    work = np.zeros(len(rows), np.int64)
    work[1:] = np.maximum(0, enter[1:] - leave[:-1])
    kind, comm, peer = (one[rows].astype(np.int64) for one in (pool.op, pool.comm, pool.peer))
    moved = pool.sent[rows].astype(np.int64) + pool.received[rows]
    reduced = np.where(REDUCES[kind], pool.sent[rows].astype(np.int64), 0)
    is_common = (comm >= 0) & np.append(is_whole, False)[comm] & N_TO_N_CODES[kind]
    comm = _often(comm, kind, comm)
    for told in ((kind, comm, peer, _often(moved, kind, comm, peer, moved)), (kind, comm)):
        token = dense(*told)
        loops = depths(rank, around, token, enter, leave)
        found = step_marks(Calls(token, moved, reduced, work, is_common, loops))
        if len(found):
            ends: Times = leave[found]
            return ends
    return NONE


def _often(what: Ints, *of: Ints) -> Ints:
    """What tells calls apart where it comes often; else it is made for one call, and tells none."""
    kind = dense(*of)
    return np.where(np.bincount(kind)[kind] >= MIN_PERIODS, what, -1)


def _together(found: dict[int, Ints], ranks: int, focus: Focus) -> list[Times]:
    """One row for each period, from the ends that some ranks show; empty where too few do.

    The count that most of them have is the run's. A rank that shows another one, such as a master
    that serves each worker in turn, is cut where the first of the others is.
    """
    long = LEAST_SHARE * focus.length_ns
    sound = {
        place: ends
        for place, ends in found.items()
        if len(ends) >= MIN_PERIODS and ends[-1] - ends[0] >= long
    }
    if not sound or 2 * len(sound) < len(found) - 1:
        return []
    counted = Counter(len(ends) for ends in sound.values())
    usual = max(counted, key=lambda count: (counted[count], -count))
    alike = {p: e for p, e in sound.items() if abs(len(e) - usual) <= LITTLE * usual}
    count = min(len(ends) for ends in alike.values())
    reference = next(ends for ends in alike.values() if len(ends) == count)
    columns = [alike[place][:count] if place in alike else reference for place in range(ranks)]
    return [np.stack(columns, axis=1)]


def _turns(trace: Trace, rank: Rank, focus: Focus, user: np.ndarray) -> Ints:
    """When the turns of the loop ended that is a rank's step, as far as samples show it."""
    rows = rank.main_stacks
    rows = rows[(rows["t"] >= focus.start_ns) & (rows["t"] <= focus.end_ns)]
    if len(rows) < FEWEST_SAMPLES * MIN_PERIODS:
        return NONE
    times = rows["t"].astype(np.int64)
    stacks = [trace.stacks[index] for index in rows["stack"].tolist()]
    chosen = NONE
    for level in range(max(map(len, stacks))):
        at, by_lot = _backward(trace, stacks, level, user)
        ends = times[at]
        is_told = len(at) >= OFTEN or len(at) > MAIN * by_lot  # few say little by their distances
        if not _is_seen(at, ends, focus) or (is_told and are_by_lot(at)):
            continue
        if len(chosen) and outer_is_step(len(chosen), len(ends) / len(chosen)):
            break
        chosen = ends
    return chosen


def _backward(
    trace: Trace, stacks: Sequence[tuple[int, ...]], level: int, user: np.ndarray
) -> tuple[Ints, float]:
    """The samples at which a function of the user's, at some level, is at an earlier line again.

    And how many they would be if lines were drawn by lot, as they are of turns that are shorter
    than the time between two samples.
    """
    seen: defaultdict[Function, list[int]] = defaultdict(list)
    found = []
    for place, stack in enumerate(stacks):
        if len(stack) <= level or not user[stack[level]]:
            continue
        frame = trace.frames[stack[level]]
        lines = seen[frame.key]
        if lines and frame.line < lines[-1]:
            found.append(place)
        lines.append(frame.line)
    return np.array(found, np.int64), sum(map(_backward_by_lot, seen.values()))


def _backward_by_lot(lines: list[int]) -> float:
    """How often a line would be before the last one on average: half of when they differ."""
    often = np.unique(lines, return_counts=True)[1] / len(lines)
    return float(1.0 - np.sum(often**2)) / 2 * (len(lines) - 1)


def _is_seen(at: Ints, ends: Ints, focus: Focus) -> bool:
    """Whether turns are long enough for the samples, and alike, and what the program does."""
    if len(at) <= MIN_PERIODS or np.median(np.diff(at)) < FEWEST_SAMPLES:
        return False
    turns = np.diff(ends)
    return is_steady(turns) and len(turns) * np.median(turns) >= LEAST_SHARE * focus.length_ns


def find_periods(trace: Trace, waits: Waits, focus: Focus) -> Periods | None:
    """When each rank finished each period; None when nothing repeats.

    The calls of the ranks tell it, else the lines that their stack samples show. Where loops inside
    a step were found, a step is a turn around them.
    """
    found = of_calls(trace, waits, focus)
    if found is None:
        return of_samples(trace, focus)
    return Periods(around(trace, found.ends, _looked_at(trace)), found.source)
