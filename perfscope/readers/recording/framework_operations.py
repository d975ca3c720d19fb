"""Collectives that the agent saw in a framework: phase records that become operations.

The agent names them `package RS operation RS group RS members` (RS: 0x1E), with the ordinal on the
group as their step and the root as their epoch; `RS sent:received` follows where the bytes are
known, and `:tag` where a message has one. As operations on a communicator of their own they are
matched, split and replayed like those of MPI. An asynchronous one is a request from its call to the
`wait` of the same group and ordinal. A message has the other rank in place of the root.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from perfscope.readers.recording import agent_metadata
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.model import (
    OPERATION_DTYPE,
    PEER_NONE,
    PEER_UNKNOWN,
    Communicator,
    Rank,
    RowFlag,
    Table,
)
from perfscope.trace.operations import (
    BY_CODE,
    BY_NAME,
    FIRST_ASYNCHRONOUS_CODE,
    FIRST_FRAMEWORK_CODE,
    GRADIENT_EXCHANGE,
    HOROVOD_EXPOSED,
    TORCH_MESSAGES,
    TORCH_WAIT,
    Operation,
    OperationClass,
    code_of,
    codes_mask,
)
from perfscope.trace.totals import totals_of

PACKAGE = "torch.distributed"
HOROVOD = "horovod"
"""Over gloo: what a program waits for has no further name."""

SEPARATOR = "\x1e"
_FINALIZE = code_of("MPI_Finalize")
_SPEAKS = ~codes_mask((OperationClass.INIT, OperationClass.FINALIZE, OperationClass.ABORT))
"""Which operations are more than the beginning and the end of communication."""
_MESSAGES = [operation.code for operation in TORCH_MESSAGES]
_MAX_TAG = (1 << 31) - 1
_INIT, _DESTROY = "init_process_group", "destroy_process_group"


@dataclass(frozen=True)
class Call:
    """What a record's name says: who saw it, what, its process group, the bytes of this rank."""

    package: str
    operation: str
    group: str
    members: tuple[int, ...]  # empty: all ranks
    sent: int = 0  # bytes, 0 also where they are not known
    received: int = 0
    tag: int = 0  # of a message


def adopt(
    ranks: Sequence[Rank], names: Sequence[str], communicators: list[Communicator], world_size: int
) -> list[str]:
    """Turns the frameworks' collectives into operations of the ranks; the notes say what failed.

    Phases, operations, totals and lifetimes of communication of the ranks change; the process
    groups are added to the communicators.
    """
    groups = _Groups(communicators, world_size)
    found = (_adopt_of(package, ranks, names, groups) for package in (PACKAGE, HOROVOD))
    return [note for notes in found for note in notes]


def _adopt_of(
    package: str, ranks: Sequence[Rank], names: Sequence[str], groups: "_Groups"
) -> list[str]:
    """The same of what one package has seen."""
    calls = {place: call for place, name in enumerate(names) if (call := parsed(name, package))}
    if not calls:
        return []
    is_whole = package != HOROVOD or not any(_untold(rank) for rank in ranks)
    wrong = [rank.number for rank in ranks if not _same_number(rank, package, groups.world_size)]
    notes = []
    for rank in ranks:
        rows = np.isin(rank.phases["name"], list(calls)) & (
            rank.phases["kind"] == PhaseKind.COMMUNICATION
        )
        found = rank.phases[rows]
        if wrong or not len(found):
            continue
        rank.phases = rank.phases[~rows]
        if is_whole and not _adopt_rank(rank, found, calls, groups):
            notes.append(f"Rank {rank.number}: {package} records that make no sense were left out.")
    if wrong:
        notes.append(
            f"{package} numbers its ranks otherwise than the launcher or MPI (rank {wrong[0]}, for "
            "example); its collectives are not matched across ranks."
        )
    return notes


def unseen_communication(ranks: Sequence[Rank]) -> str:
    """Why nothing is known of what several ranks say to each other; "" where something is.

    A framework that exchanges out of the recorder's sight says so; ranks of which no call is
    recorded beside would else seem never to wait for each other.
    """
    if len(ranks) < 2 or any(of_codes(_SPEAKS, rank.operations["op"]).any() for rank in ranks):
        return ""
    told = (facts.get("exposed_reason") for rank in ranks for facts in rank.frameworks.values())
    return next((reason for reason in told if isinstance(reason, str) and reason), "")


def parsed(name: str, package: str) -> Call | None:
    """What the name of a record says; None where it is no collective that `package` has seen."""
    parts = name.split(SEPARATOR)
    if len(parts) not in (4, 5) or parts[0] != package:
        return None
    members = _numbers(parts[3].split(",") if parts[3] else [], digits=9)
    volume = _numbers(parts[4].split(":") if len(parts) == 5 else ["0", "0"], digits=18)
    if members is None or volume is None or not 2 <= len(volume) <= 3:
        return None
    sent, received, tag = (*volume, 0)[:3]
    if tag > _MAX_TAG:
        return None
    return Call(package, parts[1], parts[2], members, sent, received, tag)


def _numbers(texts: list[str], *, digits: int) -> tuple[int, ...] | None:
    if any(not (text.isascii() and text.isdigit() and len(text) <= digits) for text in texts):
        return None
    return tuple(int(text) for text in texts)


def _untold(rank: Rank) -> bool:
    """Whether a rank says that it exchanges by Horovod what its waits do not tell."""
    return bool(rank.framework(HOROVOD).get("exposed_reason"))


def _same_number(rank: Rank, package: str, world_size: int) -> bool:
    """Whether the framework's number of a rank is the trace's; also where it has none."""
    told = rank.framework(package)
    number, size = agent_metadata.integer(told, "rank"), agent_metadata.integer(told, "size")
    return number in (None, rank.number) and size in (None, world_size)


class _Groups:
    """Communicators of the process groups; the exchange of gradients has one of its own."""

    def __init__(self, communicators: list[Communicator], world_size: int) -> None:
        self._communicators = communicators
        self.world_size = world_size
        self._known: dict[tuple[str, tuple[int, ...], bool], int] = {}

    def index(self, call: Call, rank: int) -> int:
        """The index of a call's communicator, -1 where the rank cannot be in it."""
        members = call.members or tuple(range(self.world_size))
        if rank not in members or max(members) >= self.world_size:
            return -1
        if len(set(members)) != len(members):
            return -1
        key = (call.group, members, call.operation == GRADIENT_EXCHANGE)
        if key not in self._known:
            digest = hashlib.blake2b(repr(key).encode(), digest_size=7).digest()
            identity = int.from_bytes(digest, "little")
            self._known[key] = len(self._communicators)
            self._communicators.append(Communicator(identity, members, 0))
        return self._known[key]


def _adopt_rank(rank: Rank, found: Table, calls: dict[int, Call], groups: _Groups) -> bool:
    """Adds the operations; False when some records were left out."""
    operations = np.zeros(len(found), OPERATION_DTYPE)
    for column in ("t0", "t1", "flags", "tid"):
        operations[column] = found[column]
    operations["seq"], operations["peer"], operations["comm"] = found["step"], found["epoch"], -1
    sound = True
    for name in np.unique(found["name"]).tolist():
        call, rows = calls[name], found["name"] == name
        operation = _operation_of(call)
        if operation is not None and (comm := groups.index(call, rank.number)) >= 0:
            operations["op"][rows], operations["comm"][rows] = operation.code, comm
            operations["sent"][rows], operations["received"][rows] = call.sent, call.received
            operations["tag"][rows] = call.tag
        elif call.operation == _INIT and rank.init_exit_ns is None:
            rank.init_exit_ns = int(found["t1"][rows].min())
            rank.init_enter_ns = int(found["t0"][rows].min())
        elif call.operation == _DESTROY and rank.finalize_enter_ns is None:
            rank.finalize_enter_ns = int(found["t0"][rows].max())
        elif call.operation not in (_INIT, _DESTROY):
            sound = False
    is_message = np.isin(operations["op"], _MESSAGES)
    nobody = np.where(is_message, PEER_UNKNOWN, PEER_NONE)
    operations["peer"] = np.where(operations["peer"] < 0, nobody, operations["peer"])
    adopted = _with_requests(operations[operations["op"] > 0])
    merged = np.concatenate([rank.operations, adopted])
    merged = merged[np.argsort(merged["t0"], kind="stable")]
    rank.operations = _disjoint(merged)
    _complete_requests(rank)
    told = rank.operations[rank.operations["op"] >= FIRST_FRAMEWORK_CODE]
    rank.totals = {**rank.totals, **totals_of(told)}
    _close(rank)
    return sound and len(rank.operations) == len(merged)


def _operation_of(call: Call) -> Operation | None:
    if call.package == HOROVOD:
        return BY_CODE[HOROVOD_EXPOSED] if call.operation == "exposed" else None
    return BY_NAME.get(f"{PACKAGE}.{call.operation}")


def _with_requests(operations: Table) -> Table:
    """Gives what was started asynchronously, and what waits for it, the number of the request."""
    starts = operations["op"] >= FIRST_ASYNCHRONOUS_CODE
    group, ordinal = operations["comm"].astype(np.int64), operations["seq"]
    # MPI counts its requests from 1: these are far above
    request = ((group + 1) << 40) + ordinal + 1
    operations["request"] = np.where(starts & (ordinal >= 0), request, 0)
    waits = operations["op"] == TORCH_WAIT.code
    operations["comm"][waits] = -1
    operations["seq"][waits | np.isin(operations["op"], _MESSAGES)] = -1
    return operations


def _complete_requests(rank: Rank) -> None:
    """A request is complete at the end of the wait for it."""
    is_over = (rank.operations["flags"] & RowFlag.OPEN) == 0
    waits = rank.operations[
        (rank.operations["op"] == TORCH_WAIT.code) & (rank.operations["request"] > 0) & is_over
    ]
    started = rank.operations[
        (rank.operations["op"] >= FIRST_ASYNCHRONOUS_CODE)
        & (rank.operations["op"] != TORCH_WAIT.code)
    ]
    rank.operations["request"][rank.operations["op"] == TORCH_WAIT.code] = 0
    if not len(waits) or not len(started):
        return
    started = started[np.argsort(started["request"], kind="stable")]
    place = np.searchsorted(started["request"], waits["request"])
    place = np.minimum(place, len(started) - 1)
    known = started["request"][place] == waits["request"]
    completions = np.zeros(int(known.sum()), OPERATION_DTYPE)
    for column in ("op", "comm", "seq", "peer", "tag", "sent", "received", "request"):
        completions[column] = started[column][place[known]]
    completions["t0"] = completions["t1"] = waits["t1"][known]
    completions["tid"] = waits["tid"][known]
    merged = np.concatenate([rank.completions, completions])
    rank.completions = merged[np.argsort(merged["t0"], kind="stable")]


def _disjoint(operations: Table) -> Table:
    """Without the adopted calls that reach into the next call of their thread, or begin in one."""
    while True:
        order = np.argsort(operations["tid"], kind="stable")  # by thread, then by time
        ordered = operations[order]
        reaches = (ordered["t1"][:-1] > ordered["t0"][1:]) & (
            ordered["tid"][:-1] == ordered["tid"][1:]
        )
        adopted = ordered["op"] >= FIRST_FRAMEWORK_CODE
        bad = np.zeros(len(ordered), np.bool_)
        bad[:-1] = reaches & adopted[:-1]
        bad[1:] |= reaches & ~adopted[:-1] & adopted[1:]
        if not np.any(bad):
            return operations
        operations = np.delete(operations, order[bad])


def _close(rank: Rank) -> None:
    """Many programs never destroy their process group: then the last step or collective ends it."""
    ending = rank.ending
    done = ending.kind is EndKind.ABORTED_IN_TEARDOWN or (
        ending.kind in (EndKind.EXITED, EndKind.FINALIZED) and not ending.code
    )
    if rank.finalize_enter_ns is None and rank.init_exit_ns is not None and done:
        calls = rank.operations[rank.operations["op"] != _FINALIZE]
        ends = [int(table["t1"].max()) for table in (calls, rank.steps) if len(table)]
        rank.finalize_enter_ns = max(ends, default=None)
