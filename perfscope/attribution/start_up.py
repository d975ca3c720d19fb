"""The beginning of a run: what each rank does before the ranks do anything together."""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from perfscope.arrays import Floats, Ints, is_one_of
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import TRAINING_KINDS
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MAIN
from perfscope.schema.enums import Account
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank
from perfscope.trace.operations import OperationClass, codes_mask

WHOLE_LIFE = ("communication_lifetime", "whole_trace")
FEWEST_MEETINGS = 5
"""Where nothing tells when training begins: a run that meets less often is one piece of work."""


WAITING = [INDEX[Account.INPUT_WAIT], INDEX[Account.DEVICE_WAIT]]
_INIT = codes_mask([OperationClass.INIT])
NOT_THE_BEGINNING = "the beginning of the run is not in the analyzed window"
NO_INIT = "not every rank recorded how it initialized communication"
NO_START = "the trace does not tell when the processes started, before they initialized MPI"


@dataclass(frozen=True)
class StartUp:
    """Each rank's way to the first step, or to the first operation of all ranks; `ranks` order."""

    ranks: tuple[int, ...] = ()  # numbers of the ranks
    start_s: tuple[float, ...] = ()  # when the process started, on the trace's clock
    before_s: tuple[float, ...] = ()  # seconds from then to the call that initializes communication
    waiting_s: tuple[float, ...] = ()  # seconds inside that call
    # when the set-up after it is over; the beginning of the focus where there is none
    until_ns: tuple[int, ...] = ()
    setup_s: tuple[float, ...] = ()  # seconds of work from the beginning of the focus to then
    # the same by id of the phase in which it was done, shape (ranks,) each
    phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    # the same of work in no phase, by function and file
    functions: Mapping[Function, tuple[float, ...]] = field(default_factory=dict)
    # the user's function that took most of the time before that call beyond the usual rank, and
    # most of it at all where none did; None unknown
    before: tuple[Frame | None, ...] = ()
    after: tuple[Frame | None, ...] = ()  # the same of the set-up after it
    # seconds of all this work in which the main thread waited for a CPU; 0 unknown
    queued_s: tuple[float, ...] = ()
    reason: str = NO_INIT  # why it is not known, "" where it is


def start_up(prepared: Prepared) -> StartUp:
    """How the ranks came to work together."""
    trace, focus = prepared.trace, prepared.focus
    calls = [_init(rank) for rank in trace.ranks]
    inits = [call for call in calls if call is not None]
    if not calls or len(inits) < len(calls):
        has_called = all(np.any(of_codes(_INIT, rank.operations["op"])) for rank in trace.ranks)
        return StartUp(reason=NO_START if calls and has_called else NO_INIT)
    if focus.kind not in WHOLE_LIFE or trace.judged_from_ns is not None:
        return StartUp(reason=NOT_THE_BEGINNING)
    until = _until(prepared)
    lines = prepared.timelines
    begins = [focus.start_ns] * len(lines)
    set_up = [_work(*of_rank) for of_rank in zip(lines, begins, until, strict=True)]
    early = [
        _between(line, line.boundaries[0], init[0]) for line, init in zip(lines, inits, strict=True)
    ]
    return StartUp(
        ranks=tuple(rank.number for rank in trace.ranks),
        start_s=tuple(rank.start_ns / 1e9 for rank in trace.ranks),
        before_s=tuple(
            max(0, init[0] - rank.start_ns) / 1e9
            for rank, init in zip(trace.ranks, inits, strict=True)
        ),
        waiting_s=tuple((init[1] - init[0]) / 1e9 for init in inits),
        until_ns=until,
        setup_s=tuple(
            float(_lengths(line, places).sum()) / 1e9
            for line, places in zip(lines, set_up, strict=True)
        ),
        phases=_by_phase(prepared, set_up),
        functions=_by_function(prepared, set_up),
        before=_frames(prepared, early),
        after=_frames(prepared, set_up),
        queued_s=tuple(
            _queued_s(rank, [(rank.start_ns, init[0]), (begin, end)])
            for rank, init, begin, end in zip(trace.ranks, inits, begins, until, strict=True)
        ),
        reason="",
    )


def _queued_s(rank: Rank, spans: list[tuple[int, int]]) -> float:
    """Seconds of some spans in which the main thread of a rank waited for a CPU."""
    rows = rank.main_samples
    if not len(rows):
        return 0.0
    waited = np.interp(np.array(spans), rows["t"], rows["queue_delay_ns"])
    # before the first sample all that was waited until then has been waited
    waited[np.array(spans) < rows["t"][0]] = 0.0
    return float(np.maximum(np.diff(waited, axis=1), 0.0).sum()) / 1e9


def _init(rank: Rank) -> tuple[int, int] | None:
    """Begin and end of the call that initializes communication."""
    if rank.init_exit_ns is None:
        return None
    # Horovod calls MPI_Init in a thread of its own
    for table in (rank.operations, rank.background):
        rows = table[of_codes(_INIT, table["op"])]
        if len(rows):
            return int(rows["t0"][0]), int(rows["t1"][0])
    return None if rank.init_enter_ns is None else (rank.init_enter_ns, rank.init_exit_ns)


def _between(timeline: Timeline, start_ns: int, end_ns: int) -> Ints:
    """The pieces that begin in [start_ns, end_ns)."""
    first, behind = np.searchsorted(timeline.boundaries[:-1], [start_ns, end_ns])
    return np.arange(first, max(first, behind))


def _work(timeline: Timeline, start_ns: int, end_ns: int) -> Ints:
    """Those of them that are work: no communication, no waiting for something else than a rank."""
    places = _between(timeline, start_ns, end_ns)
    account = timeline.accounts[places]
    return places[~IS_COMMUNICATION[account] & ~is_one_of(account, WAITING)]


def _lengths(timeline: Timeline, places: Ints) -> Ints:
    """Nanoseconds of pieces."""
    result: Ints = timeline.boundaries[places + 1] - timeline.boundaries[places]
    return result


def _until(prepared: Prepared) -> tuple[int, ...]:
    """When each rank's set-up ends: its first training where that is told, else its first meeting.

    Without either there is no set-up that could be told from the work that the run is for.
    """
    focus = prepared.focus
    nothing = tuple(focus.start_ns for _ in prepared.trace.ranks)
    told = [_first_training(prepared, place) for place in range(len(prepared.trace.ranks))]
    if any(moment is not None for moment in told):
        ends = [focus.start_ns if moment is None else moment for moment in told]
        return tuple(min(max(end, focus.start_ns), focus.end_ns) for end in ends)
    meetings = _meetings(prepared)
    if len(meetings) < FEWEST_MEETINGS:
        return nothing
    first = meetings[np.argmin(meetings.max(axis=1))]
    if int(first.max()) - focus.start_ns > MAIN * focus.length_ns:
        return nothing
    return tuple(max(int(moment), focus.start_ns) for moment in first)


def _first_training(prepared: Prepared, place: int) -> int | None:
    """When a rank begins its first step or training phase, None where it tells none."""
    rank, rows = prepared.trace.ranks[place], prepared.parts[place].phases
    rows = rows[is_one_of(rows["kind"], TRAINING_KINDS)]
    starts = [int(table["t0"].min()) for table in (rank.steps, rows) if len(table)]
    return min(starts, default=None)


def _meetings(prepared: Prepared) -> Ints:
    """When each rank comes to each collective of all ranks in the focus, shape (calls, ranks)."""
    pool, instances = prepared.waits.pool, prepared.waits.instances
    ranks = len(prepared.trace.ranks)
    if not len(instances):
        return np.empty((0, ranks), np.int64)
    chosen = np.flatnonzero(np.diff(instances.starts) == ranks)
    enter = pool.enter[instances.members[instances.starts[chosen][:, None] + np.arange(ranks)]]
    found: Ints = enter[enter.max(axis=1) >= prepared.focus.start_ns]
    return found


def _by_phase(prepared: Prepared, chosen: list[Ints]) -> dict[str, tuple[float, ...]]:
    ids = prepared.catalog.ids
    spent = np.zeros((len(chosen), len(ids) + 1))
    for rank, (timeline, places) in enumerate(zip(prepared.timelines, chosen, strict=True)):
        np.add.at(spent[rank], timeline.phases[places], _lengths(timeline, places))
    found = np.flatnonzero(spent[:, : len(ids)].any(axis=0))
    return {ids[index]: tuple((spent[:, index] / 1e9).tolist()) for index in found.tolist()}


def _by_function(prepared: Prepared, chosen: list[Ints]) -> dict[Function, tuple[float, ...]]:
    """Seconds of computation in no phase, by the user's function."""
    frames = prepared.trace.frames
    found: dict[Function, list[float]] = {}
    for rank, (timeline, places) in enumerate(zip(prepared.timelines, chosen, strict=True)):
        computes = timeline.accounts[places] == INDEX[Account.COMPUTATION]
        spent = _by_frame(prepared, timeline, places[computes])
        for level in np.flatnonzero(spent).tolist():
            key = frames[level].key
            found.setdefault(key, [0.0] * len(chosen))[rank] += float(spent[level]) / 1e9
    return {key: tuple(seconds) for key, seconds in found.items()}


def _by_frame(prepared: Prepared, timeline: Timeline, places: Ints) -> Floats:
    """Nanoseconds by the user's innermost frame, as far as samples tell it."""
    places = places[timeline.stacks[places] >= 0]
    levels = prepared.labels.user_frame[timeline.stacks[places]]
    lengths = _lengths(timeline, places)
    spent = np.bincount(levels, lengths, minlength=len(prepared.trace.frames))
    return spent.astype(np.float64)


def _frames(prepared: Prepared, chosen: list[Ints]) -> tuple[Frame | None, ...]:
    """The user's function in which each rank was seen most longer than the usual rank.

    What all do is not why one of them is late. Of who is in none longer, the one in which it was
    seen longest.
    """
    frames, function = prepared.trace.frames, dict[Function, int]()
    owner = np.array([function.setdefault(one.key, len(function)) for one in frames], np.int64)
    spent = [_by_frame(prepared, *of) for of in zip(prepared.timelines, chosen, strict=True)]
    whole = np.array([np.bincount(owner, one, minlength=len(function)) for one in spent])
    usual = np.sort(whole, axis=0)[(len(whole) - 1) // 2]
    found: list[Frame | None] = []
    for own, mine in zip(spent, whole, strict=True):
        more = mine - usual
        most = np.argmax(more if more.max(initial=0.0) > 0 else mine) if own.any() else -1
        found.append(
            frames[int(np.argmax(np.where(owner == most, own, 0.0)))] if most >= 0 else None
        )
    return tuple(found)
