"""Infers the steps of a program that marks none: what repeats in its calls, else in its samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.cycles import (
    MIN_PERIODS,
    NONE,
    are_by_lot,
    fixed_marks,
    heaviest_marks,
    is_steady,
    marks,
    outer_is_step,
)
from perfscope.attribution.focus import Focus
from perfscope.attribution.outer_turns import around
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.matching.codes import N_TO_N_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import dense
from perfscope.matching.waits import Waits
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.model import Function, Rank, Trace
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask

MOST_RANKS = 8
"""So many ranks are looked at: the stages of a pipeline do the same on all of theirs."""

NEARLY = 0.1
"""Ranks whose counts differ by less count the same steps: the first and last may be cut off."""

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
_MANAGEMENT = codes_mask(
    [OperationClass.COMMUNICATOR, OperationClass.INIT, OperationClass.FINALIZE]
)


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


def of_calls(trace: Trace, focus: Focus) -> Periods | None:
    """Periods of the calls that each rank makes: collectives of any communicator, then messages."""
    chosen = _looked_at(trace)
    found = None
    for codes in (IS_COLLECTIVE & ~_MANAGEMENT, (IS_COLLECTIVE | _MESSAGES) & ~_MANAGEMENT):
        if found is None or _has_loops_of_messages(trace, focus, found):
            own = {place: _of_rank(trace.ranks[place], focus, codes) for place in chosen}
            ends = _together(own, len(trace.ranks), focus)
            found = _steps_of(found, Periods(ends[0], "communication") if ends else None)
    return found


def _has_loops_of_messages(trace: Trace, focus: Focus, found: Periods) -> bool:
    """Whether messages are so many that what was found may only be made now and then of steps."""
    rows = trace.ranks[0].operations
    inside = (rows["t0"] >= focus.start_ns) & (rows["t1"] <= focus.end_ns)
    count = np.count_nonzero(of_codes(_MESSAGES, rows["op"]) & inside)
    return not outer_is_step(len(found.ends), count / len(found.ends))


def _steps_of(outer: Periods | None, inner: Periods | None) -> Periods | None:
    """Of what comes rarely and what comes often that whose turns are steps."""
    if outer is None or inner is None:
        return outer or inner
    is_outer = outer_is_step(len(outer.ends), len(inner.ends) / len(outer.ends))
    return outer if is_outer else inner


def of_samples(trace: Trace, focus: Focus) -> Periods | None:
    """Periods of the lines that samples show: an earlier line is the next turn of a loop."""
    user = np.array([is_user_file(frame.file) for frame in trace.frames], np.bool_)
    places = range(min(MOST_RANKS, len(trace.ranks)))
    found = {place: _turns(trace, trace.ranks[place], focus, user) for place in places}
    ends = _together(found, len(trace.ranks), focus)
    return Periods(ends[0], "samples") if ends else None


def _of_rank(rank: Rank, focus: Focus, codes: np.ndarray) -> Ints:
    """When the calls that mark a rank's periods ended."""
    rows = rank.operations
    rows = rows[codes[rows["op"]] & (rows["t0"] >= focus.start_ns) & (rows["t1"] <= focus.end_ns)]
    rows = rows[rows["tid"] == rank.main_tid]
    if len(rows) < MIN_PERIODS:
        return NONE
    enter: Times = rows["t0"].astype(np.int64)
    leave: Times = rows["t1"].astype(np.int64)
    work = np.zeros(len(rows), np.int64)
    work[1:] = np.maximum(0, enter[1:] - leave[:-1])
    kind, where = rows["op"].astype(np.int64), rows["comm"].astype(np.int64)
    peer = rows["peer"].astype(np.int64)
    moved = (rows["sent"] + rows["received"]).astype(np.int64)
    if not np.any(_MESSAGES[kind]):
        token = dense(kind, where, moved)
        found = fixed_marks(token, work)
        found = found if len(found) else heaviest_marks(token, moved, work)
        common: Times = leave[found]
        return common
    for columns in ((kind, where, peer, moved), (kind, where, peer), (kind, where)):
        found = marks(dense(*columns), work)
        if len(found):
            ends: Times = leave[found]
            return ends
    return NONE


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
    alike = {p: e for p, e in sound.items() if abs(len(e) - usual) <= NEARLY * usual}
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
        if not _is_seen(at, ends) or (len(at) > MAIN * by_lot and are_by_lot(at, len(stacks))):
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


def _is_seen(at: Ints, ends: Ints) -> bool:
    """Whether turns are long enough for the samples, and alike."""
    if len(at) <= MIN_PERIODS:
        return False
    return bool(np.median(np.diff(at)) >= FEWEST_SAMPLES) and is_steady(np.diff(ends))


def find_periods(trace: Trace, waits: Waits, focus: Focus) -> Periods | None:
    """When each rank finished each period; None when nothing repeats.

    Collectives of all ranks tell it best. Without them each rank's own calls do: stages of a
    pipeline have communicators or messages of their own. Programs that never communicate are told
    by the lines that their stack samples show. Where loops inside a step were found, a step is a
    turn around them.
    """
    found = None
    calls = _sequence(trace, waits, focus)
    if not _mostly_of_parts(trace, waits, focus) and (ends := _common_ends(calls)) is not None:
        found = Periods(ends, "collectives")
    if found is None or _has_loops_of_messages(trace, focus, found):
        found = _steps_of(found, of_calls(trace, focus))
    if found is None:
        return of_samples(trace, focus)
    return Periods(around(trace, found.ends, _looked_at(trace)), found.source)


def _mostly_of_parts(trace: Trace, waits: Waits, focus: Focus) -> bool:
    """Whether the ranks meet in parts, which move more bytes than all of them do together."""
    pool, instances = waits.pool, waits.instances
    if not len(instances):
        return False
    first = instances.members[instances.starts[:-1]]
    sizes = np.diff(instances.starts)
    usable = N_TO_N_CODES[instances.op] & (pool.enter[first] >= focus.start_ns) & (sizes > 1)
    whole = usable & (sizes == len(trace.ranks))
    parts = usable & ~whole
    busiest = np.bincount(instances.comm[parts]).max(initial=0)
    carried = pool.sent[first] * sizes
    is_more = carried[parts].sum() > carried[whole].sum()
    return bool(is_more and busiest > np.count_nonzero(whole))


def _common_ends(calls: _Calls) -> Times | None:
    """When each rank finished each period of what all ranks do together."""
    found = heaviest_marks(calls.token, calls.sent, calls.work)
    ends: Times = calls.exits[found]
    return ends if len(found) else None


@dataclass(frozen=True)
class _Calls:
    """Collectives in order: exits by (call, rank), token, bytes, longest work before each."""

    exits: Times
    token: Ints
    sent: Ints
    work: Ints


def _sequence(trace: Trace, waits: Waits, focus: Focus) -> _Calls:
    """The collectives of the busiest communicator over all ranks in the focus."""
    pool, instances = waits.pool, waits.instances
    numbers = {rank.number for rank in trace.ranks}
    whole = np.array([set(c.members) == numbers for c in trace.communicators], np.bool_)
    none = np.empty(0, np.int64)
    if not len(instances):
        return _Calls(none, none, none, none)
    first = instances.members[instances.starts[:-1]]
    last_exit = np.maximum.reduceat(pool.exit[instances.members], instances.starts[:-1])
    usable = whole[instances.comm] & N_TO_N_CODES[instances.op]
    usable &= pool.enter[first] >= focus.start_ns
    usable &= last_exit <= focus.end_ns
    if not np.any(usable):
        return _Calls(none, none, none, none)
    busiest = int(np.argmax(np.bincount(instances.comm[usable])))
    chosen = np.flatnonzero(usable & (instances.comm == busiest))  # in order of their sequence
    rows = instances.members[instances.starts[chosen][:, None] + np.arange(len(numbers))]
    sent = pool.sent[first[chosen]]
    work = np.zeros(len(chosen), np.int64)
    work[1:] = (pool.enter[rows][1:] - pool.exit[rows][:-1]).max(axis=1)
    return _Calls(pool.exit[rows], dense(instances.op[chosen], sent), sent, work)
