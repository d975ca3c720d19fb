"""From the trace of a run to the program that its replay runs, or the reason why there is none."""

from collections import Counter
from collections.abc import Callable

import numpy as np

from perfscope.arrays import Bools, Int32s, Ints
from perfscope.attribution.focus import Focus
from perfscope.attribution.soundness import why_spoiled
from perfscope.engine import engine
from perfscope.matching.codes import NONBLOCKING_CODES, SCAN_CODES, TO_ALL_CODES, TO_ROOT_CODES
from perfscope.matching.collectives import Instances, silent_members
from perfscope.matching.pool import Pool
from perfscope.matching.rendezvous import Calls
from perfscope.matching.waits import Waits
from perfscope.metrics.results import Results
from perfscope.replay.layout import Run, lay_out
from perfscope.replay.meetings import Kind, Meetings
from perfscope.replay.messages import MESSAGE_CLASSES, Exchanges, message_needs
from perfscope.replay.program import Program
from perfscope.schema.enums import PhaseKind
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.model import Rank, Trace, open_rows
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask, codes_of, name_of
from perfscope.units import counted, format_seconds, were

# what a rank does by itself as far as the replay goes: it keeps its measured duration
ALONE = codes_mask(
    {
        OperationClass.INIT,
        OperationClass.FINALIZE,
        OperationClass.ABORT,
        OperationClass.COMMUNICATOR,
        OperationClass.LOCAL,
        OperationClass.PERSISTENT,  # what it starts is recorded as a send or receive of its own
    }
)
COLLECTIVES = codes_mask(
    {
        OperationClass.N_TO_N,
        OperationClass.ONE_TO_N,
        OperationClass.N_TO_ONE,
        OperationClass.SCAN,
        OperationClass.I_COLLECTIVE,
    }
)
MESSAGES = codes_mask(MESSAGE_CLASSES)
# of a call of these a rank may never return
HOLDING = codes_mask(set(MESSAGE_CLASSES) - {OperationClass.ISEND, OperationClass.IRECV})
EXCHANGES_BEGUN = codes_of("MPI_Isendrecv", "MPI_Isendrecv_replace")
POLLING_SHARE = 0.01
"""Of the focus: so long a rank may ask in vain whether something has come."""
HALF_KNOWN = (
    "; the run uses MPI_Isendrecv, of which only the message that it sends is recorded and not the "
    "one that it receives"
)


class NotReplayableError(Exception):
    """The run cannot be replayed; the message says why, as a clause."""


@dataclass(frozen=True)
class _Selection:
    """Which rows of the pool are replayed."""

    pool: Pool
    instances: Instances
    chosen: Bools  # of the instances
    exchanges: Exchanges
    inside: Bools  # which rows overlap the focus
    replayed: Bools
    pending: Bools  # in which a rank still waited for others when the focus or its life ended


def extract(results: Results, when_chosen: Callable[[Results], None] | None = None) -> Program:
    """The run inside the focus of analysis as a program.

    Args:
        results: the run.
        when_chosen: called with it before the rows are laid out, when their calls are chosen.

    Raises:
        NotReplayableError: some ranks, records or partners are missing, or the run uses operations
            other than collectives and messages on the main thread.
    """
    trace, focus = results.trace, results.focus
    if why := results.communication.clocks.reason:
        raise NotReplayableError(why)
    if spoiled := why_spoiled(results.damage, Need.EVERY_RANK):
        raise NotReplayableError(spoiled)
    _refuse_gaps(trace, focus)
    try:
        program = lay_out(results, _replayed(results, when_chosen))
        if not program.has_only_cuts:
            program.measured_lengths_ns  # noqa: B018 - brings the rows into an order, or has none
    except ValueError as error:
        raise NotReplayableError(str(error)) from error
    return program


def _refuse_gaps(trace: Trace, focus: Focus) -> None:
    if focus.length_ns <= 0:
        raise NotReplayableError("the focus of analysis is empty")
    if reason := trace.not_recorded.get("operations"):
        raise NotReplayableError(reason)
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


def _replayed(results: Results, when_chosen: Callable[[Results], None] | None) -> Run:
    """The calls that are replayed."""
    run = _chosen(results.trace, results.focus, results.waits)
    if when_chosen is not None:
        when_chosen(results)
    return run


def _chosen(trace: Trace, focus: Focus, waits: Waits) -> Run:
    """The same; what chooses them goes with this function's end."""
    selection = _select(focus, waits)
    _refuse_others(trace, selection)
    _refuse_polling(trace, focus, selection)
    return _run(trace, focus, selection)


def _select(focus: Focus, waits: Waits) -> _Selection:
    pool, instances = waits.pool, waits.instances
    inside: Bools = (pool.enter < focus.end_ns) & (pool.exit > focus.start_ns)
    chosen = _chosen_instances(inside, instances)
    replayed = np.zeros(len(pool), dtype=bool)
    replayed[instances.members[chosen[instances.instance_of_member]]] = True
    at_end = pool.exit > focus.end_ns
    at_end[open_rows(pool.flags)] = True
    last = np.flatnonzero(at_end & inside)  # few
    op = pool.op[last]
    pending = np.zeros(len(pool), dtype=bool)
    pending[last] = (IS_COLLECTIVE[op] & ~replayed[last]) | HOLDING[op]
    exchanges = Exchanges.of(waits)
    replayed |= inside & of_codes(MESSAGES, pool.op) & exchanges.explained & ~pending
    return _Selection(pool, instances, chosen, exchanges, inside, replayed, pending)


def _chosen_instances(inside: Bools, instances: Instances) -> Bools:
    """Which instances overlap the focus on some rank and can be replayed."""
    if not len(instances):
        return np.zeros(0, dtype=bool)
    begin = instances.starts[:-1]
    chosen: Bools = np.logical_or.reduceat(inside[instances.members], begin)
    return chosen & COLLECTIVES[instances.op]


def _refuse_others(trace: Trace, selection: _Selection) -> None:
    pool = selection.pool
    inside, explained = selection.inside, selection.replayed | selection.pending
    main_tids = np.array([rank.main_tid for rank in trace.ranks])
    others = inside & ~of_codes(ALONE, pool.op)
    elsewhere = others & (pool.tid != main_tids[pool.rank])
    if np.any(elsewhere):
        raise NotReplayableError(
            f"outside the main threads {were(int(np.count_nonzero(elsewhere)), 'MPI call')} made"
        )
    others &= ~explained & ~selection.exchanges.polls
    for codes, what in ((COLLECTIVES, "collective call"), (MESSAGES, "message call")):
        rows = np.flatnonzero(others)
        rows = rows[codes[pool.op[rows]]]
        if len(rows):
            row = int(rows[0])
            begun = np.any(np.isin(pool.op[inside], EXCHANGES_BEGUN)) and codes is MESSAGES
            raise NotReplayableError(
                f"{counted(len(rows), what)} without a partner, the first of "
                f"{name_of(int(pool.op[row]))} on rank {trace.ranks[int(pool.rank[row])].number}"
                + (HALF_KNOWN if begun else "")
            )
    if np.any(others):
        counts = Counter(name_of(int(code)) for code in pool.op[others])
        names = ", ".join(
            f"{name} ({counted(count, 'call')})" for name, count in counts.most_common(3)
        )
        raise NotReplayableError(
            f"only collectives and messages can be replayed, and the run uses {names}"
        )
    if len(trace.ranks) > 1 and not np.any(explained & inside):
        raise NotReplayableError("no collective was recorded on the main threads")


def _refuse_polling(trace: Trace, focus: Focus, selection: _Selection) -> None:
    """How often a rank asks in vain depends on how long it has to wait: no work of its own."""
    pool = selection.pool
    rows = np.flatnonzero(selection.exchanges.polls & selection.inside)
    spent = np.minimum(pool.exit[rows], focus.end_ns) - np.maximum(pool.enter[rows], focus.start_ns)
    by_rank = np.bincount(pool.rank[rows], spent, minlength=len(trace.ranks))
    worst = int(np.argmax(by_rank))
    if by_rank[worst] > POLLING_SHARE * focus.length_ns:
        raise NotReplayableError(
            f"rank {trace.ranks[worst].number} asks for {format_seconds(by_rank[worst] * 1e-9)} "
            "whether a message or request is there (MPI_Test, MPI_Iprobe), and what it does "
            "meanwhile depends on the answer"
        )


def _run(trace: Trace, focus: Focus, selection: _Selection) -> Run:
    """The replayed calls, clipped to the focus, and for whom each waits."""
    pool, exchanges = selection.pool, selection.exchanges
    row, enter, leave, rank_of, op, starts, call_of = engine.chosen_calls(
        (pool.enter, pool.exit, pool.rank, pool.op),
        selection.replayed.view(np.uint8),
        len(trace.ranks),
        focus.start_ns,
        focus.end_ns,
    )
    calls = Calls(row, enter, leave, starts)
    pending = np.flatnonzero(selection.pending)
    place, first = np.unique(pool.rank[pending], return_index=True)
    waits_from = dict(zip(place.tolist(), pool.enter[pending[first]].tolist(), strict=True))
    ends = [_own_end(rank, focus, waits_from.get(n)) for n, rank in enumerate(trace.ranks)]
    return Run(
        calls=calls,
        rank=rank_of,
        op=op,
        end=np.array(ends, dtype=np.int64),
        meetings=_meetings(trace, selection, call_of),
        messages=message_needs(pool, exchanges, calls, call_of),
    )


def _meetings(trace: Trace, selection: _Selection, call_of: Int32s) -> Meetings:
    """The collectives, as calls."""
    pool, instances, chosen = selection.pool, selection.instances, selection.chosen
    members = instances.members[chosen[instances.instance_of_member]]
    sizes = np.diff(instances.starts)[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    op = instances.op[chosen]
    kind = np.full(len(op), int(Kind.ALL))
    kind[TO_ALL_CODES[op]] = Kind.FROM_ROOT
    kind[TO_ROOT_CODES[op]] = Kind.TO_ROOT
    kind[instances.synchronizing[chosen]] = Kind.ALL
    kind[SCAN_CODES[op]] = Kind.SCAN
    instance = np.repeat(np.arange(len(op)), sizes)
    if np.any(kind == Kind.SCAN):
        members = _scans_in_order(trace, pool, members, instance, kind)
    root = np.full(len(op), -1)
    is_root = np.flatnonzero(pool.peer[members] == pool.rank[members])
    root[instance[is_root]] = call_of[members[is_root]]
    if np.any((root < 0) & ((kind == Kind.FROM_ROOT) | (kind == Kind.TO_ROOT))):
        raise NotReplayableError("the root of a collective is not known")
    silent = silent_members(pool, members, starts[:-1], instance, op)
    rows, is_later = call_of[members].astype(np.int64), NONBLOCKING_CODES[op]
    ends, later = rows.copy(), np.flatnonzero(is_later[instance])
    ends[later] = call_of[selection.exchanges.wait_of[members[later]]]
    return Meetings(rows, starts, kind, root, ~is_later, silent, ends)


def _scans_in_order(trace: Trace, pool: Pool, members: Ints, instance: Ints, kind: Ints) -> Ints:
    """The members, those of scans by their rank in the communicator."""
    place = np.zeros(len(members), np.int64)
    scans = np.flatnonzero((kind == Kind.SCAN)[instance])
    for comm in np.unique(pool.comm[members[scans]]).tolist():
        here = scans[pool.comm[members[scans]] == comm]
        table = np.zeros(trace.world_size, np.int64)
        table[list(trace.communicators[comm].members)] = np.arange(trace.communicators[comm].size)
        numbers: Ints = pool.numbers[pool.rank[members[here]]]
        place[here] = table[numbers]
    return members[np.lexsort((place, instance))]


def _own_end(rank: Rank, focus: Focus, waits_from_ns: int | None) -> int:
    """When a rank's own work ends: in finalization, waiting for who never came, or its death."""
    ends = (focus.end_ns, rank.end_ns, rank.finalize_enter_ns, waits_from_ns)
    return max(min(end for end in ends if end is not None), focus.start_ns)
