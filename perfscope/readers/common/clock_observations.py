"""What the operations of a job tell about the clocks of its hosts.

Nobody leaves a synchronizing collective before the last one entered it, and no message is received
before its send began. Each such pair of moments on two clocks bounds the difference of the clocks.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.structures import dataclass
from perfscope.trace.model import OPERATION_DTYPE, Rank, RowFlag, Table
from perfscope.trace.operations import GRADIENT_EXCHANGE, OperationClass, code_of, codes_mask

Times = Ints
Rows = Ints

_BARRIER = code_of("MPI_Barrier")
# In the forms with a count per rank a rank may owe nothing to another, and not wait for it.
_MEETING_CODES = [
    _BARRIER,
    *(code_of(f"MPI_{name}") for name in ("Allreduce", "Allgather", "Alltoall")),
    code_of("MPI_Reduce_scatter_block"),
]
_BYTES_UNKNOWN = [
    _BARRIER,
    *(code_of(f"torch.distributed.{name}") for name in ("barrier", "all_reduce")),
    code_of(f"torch.distributed.{GRADIENT_EXCHANGE}"),
]
_SEND_CODES = codes_mask([OperationClass.SEND, OperationClass.ISEND])
_EXCHANGE_CODES = codes_mask([OperationClass.SENDRECV])
_EXCHANGE_CODES[[code_of("MPI_Isendrecv"), code_of("MPI_Isendrecv_replace")]] = True
_RECV_CODES = codes_mask([OperationClass.RECV])
_IRECV_CODES = codes_mask([OperationClass.IRECV])


@dataclass(frozen=True)
class Meetings:
    """Collectives in which two hosts met: last enter and first exit of each, on its own clock."""

    near_enter: Times
    near_exit: Times
    far_enter: Times
    far_exit: Times


@dataclass(frozen=True)
class Letters:
    """Messages from one host to another: begin of the send and end of the receive."""

    sent: Times
    received: Times


@dataclass(frozen=True)
class Pair:
    """All that was observed between two clock domains; `out` went from near to far."""

    meetings: Meetings
    out: Letters
    back: Letters

    def reversed(self) -> "Pair":
        """The same seen from the other side."""
        met = self.meetings
        turned = Meetings(met.far_enter, met.far_exit, met.near_enter, met.near_exit)
        return Pair(turned, self.back, self.out)


def observe(ranks: Sequence[Rank]) -> dict[tuple[int, int], Pair]:
    """What was observed between each two clock domains, by (near, far) with near < far."""
    meetings = _meetings(ranks)
    letters = _letters(ranks)
    keys = set(meetings) | {(min(key), max(key)) for key in letters}
    nothing = np.empty(0, np.int64)
    never, silence = Meetings(nothing, nothing, nothing, nothing), Letters(nothing, nothing)
    return {
        (near, far): Pair(
            meetings.get((near, far), never),
            letters.get((near, far), silence),
            letters.get((far, near), silence),
        )
        for near, far in sorted(keys)
    }


def _meetings(ranks: Sequence[Rank]) -> dict[tuple[int, int], Meetings]:
    rows = [_met(rank) for rank in ranks]
    table = np.concatenate(rows) if rows else np.empty(0, OPERATION_DTYPE)
    domain = np.repeat([rank.clock_domain for rank in ranks], [len(part) for part in rows])
    order = np.lexsort((domain, table["seq"], table["comm"]))
    table, domain = table[order], domain[order]
    if not len(table):
        return {}
    new = _changes(table["comm"], table["seq"])
    meeting = np.cumsum(new) - 1
    sound = _sound(table, np.flatnonzero(new))
    starts = np.flatnonzero(new | _changes(domain))
    side, where = meeting[starts], domain[starts]
    enter = np.maximum.reduceat(table["t0"], starts)
    leave = np.minimum.reduceat(table["t1"], starts)
    # the domain of lowest number stands for all in the meetings that it takes part in
    hub = np.flatnonzero(_changes(side))[np.cumsum(_changes(side)) - 1]
    usable = sound[side] & (hub != np.arange(len(side)))
    near, far = hub[usable], np.flatnonzero(usable)
    found = {}
    for pair in sorted(set(zip(where[near].tolist(), where[far].tolist(), strict=True))):
        here = (where[near] == pair[0]) & (where[far] == pair[1])
        a, b = near[here], far[here]
        found[pair] = Meetings(enter[a], leave[a], enter[b], leave[b])
    return found


def _met(rank: Rank) -> Table:
    rows = np.concatenate([rank.operations, rank.background])
    closed = rows["flags"] & (RowFlag.OPEN | RowFlag.COALESCED) == 0
    known = (rows["comm"] >= 0) & (rows["seq"] >= 0)
    chosen: Table = rows[np.isin(rows["op"], _MEETING_CODES + _BYTES_UNKNOWN) & closed & known]
    return chosen


def _sound(table: Table, starts: Rows) -> Bools:
    """Which meetings are one operation to which everybody contributed."""
    same = np.maximum.reduceat(table["op"], starts) == np.minimum.reduceat(table["op"], starts)
    contributed = np.minimum.reduceat(table["sent"], starts) > 0
    contributed |= np.isin(table["op"][starts], _BYTES_UNKNOWN)
    sound: Bools = same & contributed
    return sound


def _changes(*columns: npt.NDArray[np.integer]) -> Bools:
    """Where a row differs from the one before it; the first does."""
    result = np.ones(len(columns[0]), np.bool_)
    if len(result):
        result[1:] = False
    for column in columns:
        result[1:] |= column[1:] != column[:-1]
    return result


@dataclass(frozen=True)
class _Mail:
    """One rank's messages by channel (source, target, tag, communicator) in the order of MPI."""

    sent: dict[tuple[int, int, int, int], Times]
    received: dict[tuple[int, int, int, int], Times]


def _letters(ranks: Sequence[Rank]) -> dict[tuple[int, int], Letters]:
    """Messages between domains, of channels that are complete and in an order beyond doubt."""
    domain = {rank.number: rank.clock_domain for rank in ranks}
    mails = {rank.number: _mail(rank, domain) for rank in ranks}
    found: dict[tuple[int, int], list[tuple[Times, Times]]] = {}
    for number, mail in mails.items():
        for channel, sent in mail.sent.items():
            target = channel[1]
            received = mails[target].received.get(channel)
            if received is not None and len(received) == len(sent):
                way = domain[number], domain[target]
                found.setdefault(way, []).append((sent, received))
    return {
        way: Letters(
            np.concatenate([sent for sent, _ in parts]),
            np.concatenate([received for _, received in parts]),
        )
        for way, parts in found.items()
    }


def _mail(rank: Rank, domain: dict[int, int]) -> _Mail:
    rows = rank.operations
    rows = rows[(rows["flags"] & (RowFlag.OPEN | RowFlag.COALESCED)) == 0]
    # a combined exchange may have taken a message of any channel: its communicator is left out
    exchanged = np.unique(rows["comm"][_EXCHANGE_CODES[rows["op"]]])
    rows = rows[(rows["comm"] >= 0) & ~np.isin(rows["comm"], exchanged)]
    sends = rows[_SEND_CODES[rows["op"]]]
    return _Mail(
        dict(_channels(rank, sends, sends["t0"], domain, outgoing=True)),
        dict(_channels(rank, *_receipts(rank, rows), domain, outgoing=False)),
    )


def _receipts(rank: Rank, rows: Table) -> tuple[Table, Times]:
    """Receives in the order of posting with what they got, and when each was over."""
    direct = rows[_RECV_CODES[rows["op"]]]
    posted = rows[_IRECV_CODES[rows["op"]]]
    done = rank.completions[_IRECV_CODES[rank.completions["op"]]]
    done = done[np.argsort(done["request"], kind="stable")]
    place = np.searchsorted(done["request"], posted["request"])
    inside = np.minimum(place, max(0, len(done) - 1))
    matched = np.zeros(len(posted), np.bool_)
    if len(done):
        matched = done["request"][inside] == posted["request"]
    posted, ended = posted[matched], done[inside[matched]]
    posted = posted.copy()
    for column in ("peer", "tag"):
        posted[column] = ended[column]
    every = np.concatenate([direct, posted])
    over = np.concatenate([direct["t1"], ended["t1"]])
    order = np.argsort(every["t0"], kind="stable")
    return every[order], over[order]


def _channels(
    rank: Rank, rows: Table, moments: Times, domain: dict[int, int], *, outgoing: bool
) -> Iterator[tuple[tuple[int, int, int, int], Times]]:
    """The moments of each channel to or from another domain; one thread must have made them all."""
    elsewhere = [number for number, home in domain.items() if home != rank.clock_domain]
    away = np.isin(rows["peer"], elsewhere) & (rows["tag"] >= 0)
    rows, moments = rows[away], moments[away]
    if not len(rows):
        return
    order = np.lexsort((rows["t0"], rows["comm"], rows["tag"], rows["peer"]))
    rows, moments = rows[order], moments[order]
    starts = np.flatnonzero(_changes(rows["peer"], rows["tag"], rows["comm"]))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        if len(np.unique(rows["tid"][start:end])) > 1:
            continue
        peer, tag, comm = (int(rows[name][start]) for name in ("peer", "tag", "comm"))
        ends = (rank.number, peer) if outgoing else (peer, rank.number)
        yield (*ends, tag, comm), moments[start:end]
