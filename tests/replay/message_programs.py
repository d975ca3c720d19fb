"""Random programs of messages and collectives, run by a plain simulation, as traces.

A program is one global list of events; each rank does its part of them in this order, so that
nothing can deadlock. Everything here is written without the replay.
"""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

START_NS = 500_000_000
SMALL = 64
PAIRS = ("message", "synchronous", "exchange", "probed")


@dataclass(frozen=True)
class Event:
    """What some ranks do together.

    `kind`: message (Send, Recv), synchronous (Ssend, Recv), exchange (Sendrecv both ways), probed
    (Send; Probe and Recv), post (Isend; Irecv) and wait (Waitall of both), meet (Allreduce), scan,
    start (Iallreduce) and finish (Wait). `work` and `transfer` are by rank, in ns.
    """

    kind: str
    ranks: tuple[int, ...]
    comm: int
    work: dict[int, int]
    transfer: dict[int, int]
    partner: int = -1  # of wait and finish: the index of post or start
    silent: tuple[int, ...] = ()  # of meet and start: contribute nothing, nobody waits for them


@dataclass
class Spec:
    """A program, and what it did when it was simulated."""

    ranks: int
    communicators: list[tuple[int, ...]]
    events: list[Event]
    tail: dict[int, int]
    calls: list[list[tuple[str, int, int, int]]] = field(default_factory=list)
    """By rank: name, index of the event, enter, exit."""


def simulate(spec: Spec) -> int:  # noqa: C901, PLR0912, PLR0915 - one branch a kind of event
    """Runs the program and notes its calls; returns its end in ns."""
    clock = [0] * spec.ranks
    posted: dict[int, dict[int, int]] = {}
    spec.calls = [[] for _ in range(spec.ranks)]

    def call(name: str, index: int, rank: int, need: int) -> None:
        enter = clock[rank]
        clock[rank] = max(enter, need) + spec.events[index].transfer[rank]
        spec.calls[rank].append((name, index, enter, clock[rank]))

    for index, event in enumerate(spec.events):
        for rank in event.ranks:
            clock[rank] += event.work[rank]
        came = {rank: clock[rank] for rank in event.ranks}
        first, second = event.ranks[0], event.ranks[-1]
        match event.kind:
            case "message" | "synchronous" | "probed":
                if event.kind == "synchronous":
                    call("MPI_Ssend", index, first, came[second])
                else:
                    call("MPI_Send", index, first, 0)
                if event.kind == "probed":
                    call("MPI_Probe", index, second, came[first])
                call("MPI_Recv", index, second, came[first])
            case "exchange":
                call("MPI_Sendrecv", index, first, came[second])
                call("MPI_Sendrecv", index, second, came[first])
            case "post":
                call("MPI_Isend", index, first, 0)
                call("MPI_Irecv", index, second, 0)
            case "wait":
                call("MPI_Waitall", index, first, 0)
                call("MPI_Waitall", index, second, posted[event.partner][first])
            case "meet" | "scan":
                name = "MPI_Allreduce" if event.kind == "meet" else "MPI_Scan"
                told = [rank for rank in event.ranks if rank not in event.silent]
                for place, rank in enumerate(event.ranks):
                    others = event.ranks[: place + 1] if event.kind == "scan" else told
                    call(name, index, rank, max(came[other] for other in others))
            case "start":
                for rank in event.ranks:
                    call("MPI_Iallreduce", index, rank, 0)
            case "finish":
                for rank in event.ranks:
                    started, came = spec.events[event.partner], posted[event.partner]
                    told = [other for other in started.ranks if other not in started.silent]
                    call("MPI_Wait", index, rank, max(came[other] for other in told))
        posted[index] = came
    return max(clock[rank] + spec.tail[rank] for rank in range(spec.ranks))


def to_trace(spec: Spec) -> Trace:
    """The program as a recording; its work is training."""
    length = simulate(spec)
    builder = TraceBuilder(spec.ranks, end_s=(START_NS + length) * 1e-9 + 0.25)
    for members in spec.communicators:
        builder.communicator(members)
    for number in range(spec.ranks):
        rank = builder.rank(number).init(START_NS * 1e-9)
        at = START_NS
        for name, index, began, ended in spec.calls[number]:
            enter, leave = START_NS + began, START_NS + ended
            if enter > at:
                rank.phase(PhaseKind.TRAIN, at * 1e-9, enter * 1e-9)
            _record(spec, builder, number, name, index, enter, leave)
            at = leave
        end = at + spec.tail[number]
        if end > at:
            rank.phase(PhaseKind.TRAIN, at * 1e-9, end * 1e-9)
        rank.finalize(end * 1e-9)
    return builder.build()


def _record(
    spec: Spec, builder: TraceBuilder, number: int, name: str, index: int, enter: int, leave: int
) -> None:
    rank, event = builder.rank(number), spec.events[index]
    begin, end = enter * 1e-9, leave * 1e-9
    other = event.ranks[-1] if number == event.ranks[0] else event.ranks[0]
    sent = 0 if number in event.silent else SMALL
    if name in {"MPI_Allreduce", "MPI_Scan"}:
        rank.op(name, begin, end, comm=event.comm, sent=sent, received=SMALL)
    elif name == "MPI_Iallreduce":
        rank.op(name, begin, end, comm=event.comm, sent=sent, received=SMALL, request=index + 1)
    elif name in {"MPI_Wait", "MPI_Waitall"}:
        rank.op(name, begin, end, request=1)
        created = "MPI_Iallreduce" if name == "MPI_Wait" else "MPI_Irecv"
        if name == "MPI_Waitall" and number == event.ranks[0]:
            created = "MPI_Isend"
        rank.completion(created, end, event.partner + 1)
    elif name == "MPI_Sendrecv":
        rank.op(name, begin, end, peer=other, tag=index, seq=other, request=index + 1, sent=SMALL)
    else:
        sent = SMALL if name in {"MPI_Send", "MPI_Ssend", "MPI_Isend"} else 0
        request = index + 1 if name in {"MPI_Isend", "MPI_Irecv"} else 0
        rank.op(name, begin, end, peer=other, tag=index, sent=sent, request=request)


@st.composite
def programs(draw: st.DrawFn) -> Spec:
    """Programs of 2-4 ranks in which all kinds of calls are mixed."""
    ranks = draw(st.integers(2, 4))
    groups = draw(st.lists(st.sets(st.integers(0, ranks - 1), min_size=2).map(sorted), max_size=2))
    communicators = [tuple(group) for group in groups]
    kinds = st.sampled_from([*PAIRS, "post", "start", "meet", "scan", "complete", "complete"])
    events: list[Event] = []
    open_ones: list[int] = []

    def add(kind: str, members: tuple[int, ...], comm: int, partner: int = -1) -> None:
        milliseconds = st.integers(0, 40).map(lambda ms: ms * 1_000_000)
        work = {rank: draw(milliseconds) for rank in members}
        transfer = {rank: draw(st.integers(1, 3000)) * 1000 for rank in members}
        silent: tuple[int, ...] = ()
        if kind in {"meet", "start"}:
            silent = tuple(draw(st.sets(st.sampled_from(members), max_size=len(members) - 1)))
        events.append(Event(kind, members, comm, work, transfer, partner, silent))

    for _ in range(draw(st.integers(1, 10))):
        kind = draw(kinds)
        if kind == "complete":
            if open_ones:
                started = open_ones.pop(draw(st.integers(0, len(open_ones) - 1)))
                event = events[started]
                add("wait" if event.kind == "post" else "finish", event.ranks, event.comm, started)
            continue
        if kind in {"meet", "scan", "start"}:
            comm = draw(st.integers(0, len(communicators)))
            members = communicators[comm - 1] if comm else tuple(range(ranks))
        else:
            comm, members = 0, tuple(draw(st.permutations(range(ranks)))[:2])
        if kind in {"post", "start"}:
            open_ones.append(len(events))
        add(kind, members, comm)
    for started in open_ones:
        event = events[started]
        add("wait" if event.kind == "post" else "finish", event.ranks, event.comm, started)
    tail = {rank: draw(st.integers(0, 40)) * 1_000_000 for rank in range(ranks)}
    # something has to tie the ranks together
    add("meet", tuple(range(ranks)), 0)
    return Spec(ranks, communicators, events, tail)


def edited(spec: Spec, *, work: float = 1.0, transfer: float = 1.0, ranks: tuple[int, ...]) -> Spec:
    """The program with work of some ranks and all transfer scaled."""

    def scaled(values: dict[int, int], factor: float, of: tuple[int, ...]) -> dict[int, int]:
        return {rank: round(ns * factor) if rank in of else ns for rank, ns in values.items()}

    everyone = tuple(range(spec.ranks))
    events = [
        replace(
            event,
            work=scaled(event.work, work, ranks),
            transfer=scaled(event.transfer, transfer, everyone),
        )
        for event in spec.events
    ]
    return Spec(spec.ranks, spec.communicators, events, scaled(spec.tail, work, ranks))
