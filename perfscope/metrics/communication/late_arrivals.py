"""Who kept others waiting at collectives, and what that rank was doing instead."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints, rows_by
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.sampled import callers_of, frames_of
from perfscope.attribution.together import longest_gaps
from perfscope.engine import engine
from perfscope.matching.codes import CODES, NONBLOCKING_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import dense, places_by_rank
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function
from perfscope.trace.operations import OperationClass


@dataclass(frozen=True)
class LateArrival:
    """Time that the others waited for one rank, by what that rank was doing before it arrived.

    `phase` is the id of the phase of most of the late rank's gap, "" outside any; `frames` the
    function and line that the stack sampler saw most often there, outermost user function last.
    """

    rank: int
    phase: str
    frame: Frame | None  # the user's function that took the time
    caller: Frame | None  # who called it, if known
    waiting_s: float  # sum over the ranks that waited
    stall_s: float  # sum over instances of the longest wait: what the job as a whole lost
    instances: int
    first_s: float
    last_s: float


@dataclass(frozen=True)
class _Late:
    """One row per collective instance at which somebody waited."""

    rank: Ints  # position of the rank that came last
    enter: Times  # when it came
    waiting: Times  # of all others together, inside the focus
    stall: Times  # longest wait


def late_arrivals(prepared: Prepared) -> tuple[LateArrival, ...]:
    """Waiting at collectives by the rank that came last, its phase and function, most first.

    What the late rank did is taken from the longest stretch without communication since it last
    left a collective.
    """
    late = _late(prepared)
    if not len(late.rank):
        return ()
    phase, stack = _doings(prepared, late)
    frame, caller = frames_of(prepared.labels, stack), callers_of(prepared.labels, stack)
    function = _functions(prepared)[frame]
    results = [
        _aggregate(prepared, late, phase, places, frame, caller)
        for places in rows_by(dense(late.rank, phase, function))
    ]
    return tuple(sorted(results, key=lambda result: (-result.waiting_s, result.rank)))


def _late(prepared: Prepared) -> _Late:
    parts = (_late_at_collectives(prepared), _late_at_finalize(prepared))
    columns = zip(*((p.rank, p.enter, p.waiting, p.stall) for p in parts), strict=True)
    return _Late(*(np.concatenate(column) for column in columns))


def _late_at_collectives(prepared: Prepared) -> _Late:
    pool, instances = prepared.waits.pool, prepared.waits.instances
    if not len(instances):
        return _nobody()
    waiting, stall, cause = engine.late_at_collectives(
        pool, CODES, instances, _main_tids(prepared), prepared.focus.start_ns, prepared.focus.end_ns
    )
    chosen = (waiting > 0) & ~NONBLOCKING_CODES[instances.op]
    row = cause[chosen]
    return _Late(pool.rank[row].astype(np.int64), pool.enter[row], waiting[chosen], stall[chosen])


def _late_at_finalize(prepared: Prepared) -> _Late:
    """The last rank to enter MPI_Finalize keeps the others waiting there."""
    pool, waits = prepared.waits.pool, prepared.waits
    rows = np.flatnonzero(pool.is_of(OperationClass.FINALIZE) & waits.known)
    if not len(rows):
        return _nobody()
    wait = _waiting_ns(prepared, rows, waits.need[rows])
    last = rows[int(np.argmax(pool.enter[rows]))]
    if not wait.any():
        return _nobody()
    return _Late(
        pool.rank[[last]].astype(np.int64),
        pool.enter[[last]],
        wait.sum(keepdims=True),
        wait.max(keepdims=True),
    )


def _waiting_ns(prepared: Prepared, rows: Ints, need: Times) -> Times:
    """How long each call waited inside the focus."""
    pool, focus = prepared.waits.pool, prepared.focus
    end = np.clip(need, pool.enter[rows], pool.exit[rows])
    start = np.clip(pool.enter[rows], focus.start_ns, focus.end_ns)
    wait: Times = np.maximum(np.clip(end, focus.start_ns, focus.end_ns) - start, 0)
    return wait


def _nobody() -> _Late:
    none = np.empty(0, np.int64)
    return _Late(none, none, none, none)


def _doings(prepared: Prepared, late: _Late) -> tuple[Ints, Ints]:
    """Phase and stack of the longest gap in each late rank's way to the collective."""
    phase = np.full(len(late.rank), -1, np.int64)
    stack = np.full(len(late.rank), -1, np.int64)
    left = _last_exits(prepared, late)
    places = places_by_rank(late.rank, len(prepared.parts))
    for position, (part, here) in enumerate(zip(prepared.parts, places, strict=True)):
        if not len(here) or not len(part.samples.gap_stack):
            continue
        gap, start, end = longest_gaps(part.rank, part.blocking, left[here], late.enter[here])
        found = gap >= 0
        mine, gap, start, end = here[found], gap[found], start[found], end[found]
        stack[mine] = part.samples.gap_stack[gap]
        timeline = prepared.timelines[position]
        phase[mine] = timeline.phases[timeline.at(start + (end - start) // 2)]
    return phase, stack


def _last_exits(prepared: Prepared, late: _Late) -> Times:
    """When each late rank last left a collective, or MPI_Init: what came before is no cause."""
    pool, instances = prepared.waits.pool, prepared.waits.instances
    began = [
        rank.start_ns if rank.init_exit_ns is None else rank.init_exit_ns
        for rank in prepared.trace.ranks
    ]
    return engine.last_exits(
        pool,
        CODES,
        instances.members,
        _main_tids(prepared),
        np.array(began, np.int64),
        late.rank,
        late.enter,
    )


def _main_tids(prepared: Prepared) -> npt.NDArray[np.uint32]:
    return np.array([rank.main_tid for rank in prepared.trace.ranks], np.uint32)


def _functions(prepared: Prepared) -> Ints:
    """Which function each frame is, whatever its line; the last entry, for index -1, is none."""
    known: dict[Function, int] = {}
    frames = prepared.trace.frames
    index = [known.setdefault(frame.key, len(known)) for frame in frames]
    return np.array([*index, -1], np.int64)


def _aggregate(
    prepared: Prepared, late: _Late, phases: Ints, places: Ints, frame: Ints, caller: Ints
) -> LateArrival:
    position, phase = int(late.rank[places[0]]), int(phases[places[0]])
    lead = _weightiest(frame[places], late.waiting[places])
    from_lead = places[frame[places] == lead]
    parent = _weightiest(caller[from_lead], late.waiting[from_lead])
    frames = prepared.trace.frames
    return LateArrival(
        rank=prepared.trace.ranks[position].number,
        phase=prepared.catalog.ids[phase] if phase >= 0 else "",
        frame=frames[lead] if lead >= 0 else None,
        caller=frames[parent] if parent >= 0 else None,
        waiting_s=float(late.waiting[places].sum()) / 1e9,
        stall_s=float(late.stall[places].sum()) / 1e9,
        instances=len(places),
        first_s=float(late.enter[places].min()) / 1e9,
        last_s=float(late.enter[places].max()) / 1e9,
    )


def _weightiest(values: Ints, weights: Times) -> int:
    index = dense(values)
    heaviest = int(np.argmax(np.bincount(index, weights)))
    return int(values[int(np.argmax(index == heaviest))])
