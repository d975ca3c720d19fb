"""Random programs of collectives, run by a plain simulation, as traces; and the answers for edits.

Everything here is written without the replay: work is a table by event and rank, time is a list.
"""

from dataclasses import dataclass, field

from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

PHASES = {
    Account.TRAINING: PhaseKind.TRAIN,
    Account.EVALUATION: PhaseKind.EVALUATE,
    Account.CHECKPOINT: PhaseKind.CHECKPOINT,
    Account.INPUT_WAIT: PhaseKind.INPUT,
}
ROOTED = {"MPI_Bcast": "from", "MPI_Scatter": "from", "MPI_Reduce": "to", "MPI_Gather": "to"}
START_NS = 500_000_000
Work = dict[Account, int]


@dataclass
class Event:
    """One collective: who takes part, what each does before it (ns), and what it takes beyond "
    "waiting."""

    op: str
    comm: int
    members: tuple[int, ...]
    root: int
    work: dict[int, Work]
    transfer: dict[int, int]
    synchronizes: bool = False  # what the analysis decided of a rooted one
    silent: tuple[int, ...] = ()  # contribute nothing: nobody waits for them


@dataclass
class Spec:
    """A program: events in one order that every rank follows, and work after the last one."""

    ranks: int
    communicators: list[tuple[int, ...]]  # beyond the world
    events: list[Event]
    tail: dict[int, Work]
    enters: list[dict[int, int]] = field(default_factory=list)
    exits: list[dict[int, int]] = field(default_factory=list)


def need(event: Event, arrival: dict[int, int], rank: int) -> int:
    """When one rank can leave at the earliest."""
    direction = "" if event.synchronizes else ROOTED.get(event.op, "")
    if direction == "from":
        return max(arrival[rank], arrival[event.root])
    if direction == "to":
        return max(arrival.values()) if rank == event.root else arrival[rank]
    told = [at for other, at in arrival.items() if other not in event.silent]
    return max(arrival[rank], *told)


def simulate(spec: Spec) -> int:
    """Runs the program, notes when each rank enters and leaves; its end in ns from its start."""
    clock = dict.fromkeys(range(spec.ranks), 0)
    spec.enters, spec.exits = [], []
    for event in spec.events:
        arrival = {rank: clock[rank] + sum(event.work[rank].values()) for rank in event.members}
        leave = {rank: need(event, arrival, rank) + event.transfer[rank] for rank in event.members}
        spec.enters.append(arrival)
        spec.exits.append(leave)
        clock.update(leave)
    return max(clock[rank] + sum(spec.tail[rank].values()) for rank in range(spec.ranks))


def as_measured(spec: Spec, synchronizes: list[bool]) -> None:
    """Splits the noted times again, as an analysis that decided which rooted events synchronize."""
    for event, arrival, leave, decided in zip(
        spec.events, spec.enters, spec.exits, synchronizes, strict=True
    ):
        event.synchronizes = decided
        event.transfer = {rank: leave[rank] - need(event, arrival, rank) for rank in event.members}


def to_trace(spec: Spec) -> Trace:
    """The program as a recording; each kind of work is a phase."""
    length = simulate(spec)
    builder = TraceBuilder(spec.ranks, end_s=(START_NS + length) * 1e-9 + 0.25)
    for members in spec.communicators:
        builder.communicator(members)
    clock = dict.fromkeys(range(spec.ranks), START_NS)
    for rank in range(spec.ranks):
        builder.rank(rank).init(START_NS * 1e-9)
    for event, arrival, leave in zip(spec.events, spec.enters, spec.exits, strict=True):
        for rank in event.members:
            _phases(builder, rank, clock[rank], event.work[rank])
            clock[rank] = START_NS + leave[rank]
            builder.rank(rank).op(
                event.op,
                (START_NS + arrival[rank]) * 1e-9,
                clock[rank] * 1e-9,
                comm=event.comm,
                peer=event.root if event.op in ROOTED else -1,
                sent=0 if rank in event.silent else 64,
                received=64,
            )
    for rank in range(spec.ranks):
        _phases(builder, rank, clock[rank], spec.tail[rank])
        end = clock[rank] + sum(spec.tail[rank].values())
        builder.rank(rank).finalize(end * 1e-9)
    return builder.build()


def _phases(builder: TraceBuilder, rank: int, at: int, work: Work) -> None:
    for account, ns in work.items():
        if ns:
            builder.rank(rank).phase(PHASES[account], at * 1e-9, (at + ns) * 1e-9)
        at += ns


def segments(spec: Spec) -> list[list[tuple[int, Work]]]:
    """Pieces of work (rank, work) by segment: up to each collective of all ranks, and after the "
    "last."""
    passed = dict.fromkeys(range(spec.ranks), 0)
    found: list[list[tuple[int, Work]]] = [[]]
    for event in spec.events:
        whole = len(event.members) == spec.ranks
        cut = whole and (event.synchronizes or event.op not in ROOTED) and not event.silent
        for rank in event.members:
            found[passed[rank]].append((rank, event.work[rank]))
            passed[rank] += cut
        if cut:
            found.append([])
    for rank in range(spec.ranks):
        found[passed[rank]].append((rank, spec.tail[rank]))
    return found


def edit_factor(spec: Spec, account: Account | None, ranks: tuple[int, ...], factor: int) -> None:
    """Multiplies work in place."""
    for pieces in segments(spec):
        for rank, work in pieces:
            for kind in work:
                if rank in ranks and account in (None, kind):
                    work[kind] *= factor


def edit_shared(spec: Spec, account: Account) -> None:
    """Gives each rank an equal part of one kind of work, segment by segment."""
    for pieces in segments(spec):
        total = dict.fromkeys(range(spec.ranks), 0.0)
        last: dict[int, Work] = {}
        for rank, work in pieces:
            total[rank] += work.get(account, 0)
            last[rank] = work
        target = sum(total.values()) / spec.ranks
        for rank in total:
            if total[rank] > 0:
                for other, work in pieces:
                    if other == rank and account in work:
                        work[account] *= target / total[rank]  # type: ignore[assignment]
            elif target > 0:
                last[rank][account] = target  # type: ignore[assignment]
