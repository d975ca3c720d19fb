"""One MPI call of a generated program: its text in C, its text in Python, and its true record.

Buffers hold 32-bit integers: `out` is sent, `into` receives. Slot 0 holds the request of a receive
or of a collective, slot 1 that of a send.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WORD = 4
NOBODY, UNKNOWN, PROC_NULL = -1, -2, -3


@dataclass(frozen=True)
class Comm:
    """A communicator as one rank sees it."""

    slot: int  # its place in the program's array
    birth: int  # a number that tells apart those that had the same place one after the other
    members: tuple[int, ...]  # world ranks


@dataclass(frozen=True)
class Truth:
    """What the record of a call must say; `comm` is None where a call names none.

    `source` is that of a combined send and receive, None of anything else.
    """

    name: str
    comm: Comm | None = None
    peer: int = NOBODY
    tag: int = -1
    sent: int = 0
    received: int = 0
    source: int | None = None


@dataclass(frozen=True)
class Call:
    """A statement of both programs and the records that it leaves."""

    c: str
    python: str
    truths: tuple[Truth, ...] = ()


def _peer(peer: int, language: str) -> str:
    prefix = "MPI_" if language == "c" else "MPI."
    return {PROC_NULL: f"{prefix}PROC_NULL", NOBODY: f"{prefix}ANY_SOURCE"}.get(peer, str(peer))


def _world(comm: Comm, peer: int) -> int:
    return comm.members[peer] if peer >= 0 else peer


def fill(value: int, count: int) -> Call:
    """Gives the buffer to send its contents."""
    return Call(f"fill(out, {value}, {count});", f"fill(s.out, {value}, {count})")


def take(count: int, buffer: str = "into") -> Call:
    """Adds what was received to the result that the program prints."""
    return Call(f"take({buffer}, {count});", f"take(s, s.{buffer}, {count})")


def send(kind: str, comm: Comm, peer: int, tag: int, count: int) -> Call:
    """A send of any kind: blocking, nonblocking (slot 1), or the set-up of a persistent one."""
    blocking = kind in {"Send", "Ssend"}
    request = "" if blocking else ", &requests[1]"
    head = f"out, {count}, MPI_INT, {_peer(peer, 'c')}, {tag}"
    c = f"MPI_{kind}({head}, comms[{comm.slot}]{request});"
    python = f"s.comms[{comm.slot}].{kind}(s.out[:{count}], {_peer(peer, 'python')}, {tag})"
    moved = 0 if kind.endswith("_init") or peer < 0 else count * WORD
    truth = Truth(f"MPI_{kind}", comm, _world(comm, peer), tag, moved)
    return Call(c, python if blocking else f"s.requests[1] = {python}", (truth,))


def receive(
    kind: str, comm: Comm, source: int, tag: int, count: int, *, from_anybody: bool = False
) -> Call:
    """A receive: blocking, nonblocking (slot 0), or the set-up of a persistent one."""
    asked = NOBODY if from_anybody else source
    room = count + 3
    last = ", MPI_STATUS_IGNORE" if kind == "Recv" else ", &requests[0]"
    c = f"MPI_{kind}(into, {room}, MPI_INT, {_peer(asked, 'c')}, {tag}, comms[{comm.slot}]{last});"
    python = f"s.comms[{comm.slot}].{kind}(s.into[:{room}], {_peer(asked, 'python')}, {tag})"
    moved = 0 if kind == "Recv_init" else count * WORD
    truth = Truth(f"MPI_{kind}", comm, _world(comm, source), tag, 0, moved)
    return Call(c, python if kind == "Recv" else f"s.requests[0] = {python}", (truth,))


def probe(kind: str, comm: Comm, source: int, tag: int, *, from_anybody: bool) -> Call:
    """A probe that finds its message; Iprobe is repeated until it does."""
    peer = NOBODY if from_anybody else source
    c_head = f"{_peer(peer, 'c')}, {tag}, comms[{comm.slot}]"
    python_head = f"{_peer(peer, 'python')}, {tag}"
    where = f"s.comms[{comm.slot}]"
    c, python = {
        "Probe": (f"MPI_Probe({c_head}, MPI_STATUS_IGNORE);", f"{where}.Probe({python_head})"),
        "Mprobe": (
            f"MPI_Mprobe({c_head}, &message, MPI_STATUS_IGNORE);",
            f"s.message = {where}.Mprobe({python_head})",
        ),
        "Iprobe": (
            f"for (flag = 0; !flag;) MPI_Iprobe({c_head}, &flag, MPI_STATUS_IGNORE);",
            f"while not {where}.Iprobe({python_head}): pass",
        ),
    }[kind]
    return Call(c, python, (Truth(f"MPI_{kind}", comm, _world(comm, source), tag),))


def matched_receive(comm: Comm, source: int, tag: int, count: int) -> Call:
    """The receive of the message that Mprobe found."""
    c = f"MPI_Mrecv(into, {count}, MPI_INT, &message, MPI_STATUS_IGNORE);"
    truth = Truth("MPI_Mrecv", comm, comm.members[source], tag, 0, count * WORD)
    return Call(c, f"s.message.Recv(s.into[:{count}])", (truth,))


def sendrecv(comm: Comm, dest: int, source: int, tag: int, count: int) -> Call:
    """A combined send and receive; either side may be nobody."""
    c = (
        f"MPI_Sendrecv(out, {count}, MPI_INT, {_peer(dest, 'c')}, {tag}, into, {count}, MPI_INT, "
        f"{_peer(source, 'c')}, {tag}, comms[{comm.slot}], MPI_STATUS_IGNORE);"
    )
    python = (
        f"s.comms[{comm.slot}].Sendrecv(s.out[:{count}], {_peer(dest, 'python')}, {tag}, "
        f"s.into[:{count}], {_peer(source, 'python')}, {tag})"
    )
    amount = count * WORD
    truth = Truth(
        "MPI_Sendrecv",
        comm,
        _world(comm, dest),
        tag,
        0 if dest < 0 else amount,
        0 if source < 0 else amount,
        _world(comm, source),
    )
    return Call(c, python, (truth,))


def wait(slot: int, *, is_persistent: bool = False) -> Call:
    """A wait for one request, which stays valid when it is persistent."""
    drop = "" if is_persistent else f"; s.requests[{slot}] = None"
    c = f"MPI_Wait(&requests[{slot}], MPI_STATUS_IGNORE);"
    return Call(c, f"s.requests[{slot}].Wait(){drop}", (Truth("MPI_Wait"),))


def poll(slot: int) -> Call:
    """Tests until a request has completed."""
    c = f"for (flag = 0; !flag;) MPI_Test(&requests[{slot}], &flag, MPI_STATUS_IGNORE);"
    return Call(c, f"while not s.requests[{slot}].Test(): pass", (Truth("MPI_Test"),))


def wait_all() -> Call:
    """A wait for both slots."""
    c = "MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);"
    return Call(c, "MPI.Request.Waitall(s.requests)", (Truth("MPI_Waitall"),))


def start(slot: int, truth: Truth) -> Call:
    """A start of one persistent request, which records what it starts."""
    return Call(f"MPI_Start(&requests[{slot}]);", f"s.requests[{slot}].Start()", (truth,))


def start_all(truths: Sequence[Truth]) -> Call:
    """A start of both slots: one call, and a record of each message."""
    c = "MPI_Startall(2, requests);"
    return Call(c, "MPI.Prequest.Startall(s.requests)", (Truth("MPI_Startall"), *truths))


def free_request(slot: int) -> Call:
    """The end of a persistent request."""
    return Call(f"MPI_Request_free(&requests[{slot}]);", f"s.requests[{slot}].Free()")


def duplicate(parent: Comm, slot: int) -> Call:
    """A copy of a communicator."""
    c = f"MPI_Comm_dup(comms[{parent.slot}], &comms[{slot}]);"
    python = f"s.comms[{slot}] = s.comms[{parent.slot}].Dup()"
    return Call(c, python, (Truth("MPI_Comm_dup", parent),))


def split(parent: Comm, slot: int, color: int, key: int) -> Call:
    """A part of a communicator."""
    c = f"MPI_Comm_split(comms[{parent.slot}], {color}, {key}, &comms[{slot}]);"
    python = f"s.comms[{slot}] = s.comms[{parent.slot}].Split({color}, {key})"
    return Call(c, python, (Truth("MPI_Comm_split", parent),))


def free(comm: Comm) -> Call:
    """The end of a communicator."""
    c = f"MPI_Comm_free(&comms[{comm.slot}]);"
    return Call(c, f"s.comms[{comm.slot}].Free()", (Truth("MPI_Comm_free", comm),))
