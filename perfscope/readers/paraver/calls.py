"""MPI calls, messages and collectives of a Paraver trace as operations of the trace model."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, mapped, ordinals
from perfscope.judging import NEGLIGIBLE
from perfscope.readers.common.amounts import forget_impossible_sizes
from perfscope.readers.paraver.communicators import Communicators
from perfscope.readers.paraver.layout import Labels
from perfscope.structures import dataclass
from perfscope.trace.model import (
    COMPLETION_DTYPE,
    OPERATION_DTYPE,
    PEER_NONE,
    PEER_PROC_NULL,
    PEER_UNKNOWN,
    RowFlag,
    Table,
    empty,
)
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask

Rows = Ints
ROOTED = codes_mask([OperationClass.ONE_TO_N, OperationClass.N_TO_ONE])
COLLECTIVE_CALL = 2

_ONE_WAY = codes_mask([OperationClass.SEND, OperationClass.ISEND, OperationClass.RECV])


@dataclass
class Calls:
    """All calls of all locations, sorted by location and time, and what could not be matched."""

    operations: Table
    location: Rows
    completions: Table
    completion_location: Rows
    unmatched_messages: int
    impossible_sizes: int

    def guessed_ns(self, rank_of: Rows) -> Rows:
        """How long the calls of each rank took of which another call tells the end, shape (ranks,).

        What a thread did between them is told as communication. A last call that is not left is
        none of these: it lasts as long as its thread is seen.
        """
        table, location = self.operations, self.location
        is_open = (table["flags"] & RowFlag.OPEN) > 0
        is_open[np.flatnonzero(np.diff(location, append=-1))] = False
        found = np.zeros(int(rank_of.max(initial=-1)) + 1, np.int64)
        np.add.at(found, rank_of[location[is_open]], (table["t1"] - table["t0"])[is_open])
        return found

    def address_nobody(self, rank_of: Rows, length_ns: int) -> None:
        """Tells calls whose other side is MPI_PROC_NULL, of which a whole trace has no message.

        A trace whose messages were filtered has none either: if these calls take noticeable time
        on any rank, they waited for somebody, and whom they met stays unknown. So it does where
        no message at all was kept and there are ranks to exchange some with.
        """
        if self.unmatched_messages:
            return
        table, op = self.operations, self.operations["op"]
        whole = (table["flags"] & RowFlag.OPEN) == 0
        exchanges = whole & codes_mask([OperationClass.SENDRECV])[op]
        one_way = whole & _ONE_WAY[op]
        has_messages = bool(np.any((one_way | exchanges) & (table["peer"] >= 0)))
        to_nobody = (one_way | exchanges) & (table["peer"] == PEER_NONE)
        from_nobody = exchanges & (table["seq"] == -1)
        alone = to_nobody & (~exchanges | from_nobody)
        ranks = rank_of[self.location] if len(table) else np.empty(0, np.int64)
        spent = np.bincount(ranks[alone], (table["t1"] - table["t0"])[alone])
        if not has_messages and len(np.unique(rank_of)) > 1:
            return
        if len(spent) and spent.max() > NEGLIGIBLE * length_ns:
            return
        table["peer"][to_nobody] = PEER_PROC_NULL
        table["seq"][from_nobody] = PEER_PROC_NULL


def callers(calls: Table, rank_of: Rows) -> set[tuple[int, int]]:
    """Rank and number of the communicator, of all collectives."""
    chosen = calls[calls["kind"] == COLLECTIVE_CALL]
    ranks = rank_of[chosen["location"]] if len(chosen) else np.empty(0, np.int64)
    pairs = np.unique(np.stack([ranks, chosen["communicator"].astype(np.int64)], axis=1), axis=0)
    return {(int(rank), int(number)) for rank, number in pairs.tolist()}


def build_calls(
    calls: Table, messages: Table, labels: Labels, rank_of: Rows, communicators: Communicators
) -> Calls:
    """The operations with peers, sizes, sequence numbers and roots.

    Calls are CALL_DTYPE and messages MESSAGE_DTYPE rows; `rank_of` is the rank of each location.
    """
    order = np.lexsort((calls["t0"], calls["location"]))
    calls = calls[order]
    table = np.zeros(len(calls), OPERATION_DTYPE)
    for column in ("t0", "t1", "flags"):
        table[column] = calls[column]
    table["op"] = mapped(calls["value"], labels.operation)
    table["seq"] = -1
    table["peer"] = PEER_NONE
    table["tag"] = -1
    location = calls["location"].astype(np.int64)
    _set_communicators(table, calls, rank_of[location], communicators)
    _set_collectives(table, calls, rank_of[location])
    completions, where, unmatched = _set_messages(table, location, messages, rank_of)
    impossible = forget_impossible_sizes(table) + forget_impossible_sizes(completions)
    return Calls(table, location, completions, where, unmatched, impossible)


def _set_communicators(
    table: Table, calls: Table, rank: Rows, communicators: Communicators
) -> None:
    is_collective = calls["kind"] == COLLECTIVE_CALL
    found = communicators.places(rank, calls["communicator"])
    # messages may go from one application to another
    table["comm"] = np.where(is_collective, found, np.where(calls["kind"] == 1, 0, -1))
    table["sent"] = np.where(is_collective, calls["sent"], 0)
    table["received"] = np.where(is_collective, calls["received"], 0)


def _set_collectives(table: Table, calls: Table, rank: Rows) -> None:
    """Ordinals on each communicator, and the root of rooted ones where one rank says so."""
    rows = np.flatnonzero(IS_COLLECTIVE[table["op"]] & (table["comm"] >= 0))
    if not len(rows):
        return
    rows = rows[np.lexsort((table["t0"][rows], rank[rows]))]
    table["seq"][rows] = ordinals(table["comm"][rows], rank[rows])
    rooted = rows[ROOTED[table["op"][rows]]]
    table["peer"][rooted] = PEER_UNKNOWN
    heads = rooted[calls["is_root"][rooted] != 0]
    keys = np.stack([table["comm"], table["seq"]]).astype(np.int64)
    roots = {(int(keys[0, r]), int(keys[1, r])): int(rank[r]) for r in heads.tolist()}
    if roots:
        table["peer"][rooted] = [
            roots.get((int(keys[0, r]), int(keys[1, r])), PEER_UNKNOWN) for r in rooted.tolist()
        ]


class _Finder:
    """Finds the call of a location that contains a moment."""

    def __init__(self, table: Table, location: Rows) -> None:
        self._enter, self._exit = table["t0"], table["t1"]
        self._location = location

    def rows(self, location: Rows, moment: Rows, *, is_end: bool = False) -> Rows:
        """The rows of the calls, -1 where there is none.

        Between two calls without a gap, a moment belongs to the later one unless it `is_end`.
        """
        found = self._rows(location, moment, "left" if is_end else "right")
        if is_end:
            others = self._rows(location, moment, "right")
            found = np.where(found >= 0, found, others)
        return found

    def _rows(self, location: Rows, moment: Rows, side: Literal["left", "right"]) -> Rows:
        found = np.full(len(moment), -1, np.int64)
        for place in np.unique(location).tolist():
            begin, end = np.searchsorted(self._location, [place, place + 1]).tolist()
            if begin == end:
                continue
            here = np.flatnonzero(location == place)
            rows = begin + np.searchsorted(self._enter[begin:end], moment[here], side) - 1
            inside = (rows >= begin) & (moment[here] <= self._exit[np.maximum(rows, begin)])
            found[here[inside]] = rows[inside]
        return found


def _set_messages(
    table: Table, location: Rows, messages: Table, rank_of: Rows
) -> tuple[Table, Rows, int]:
    """Peers, tags and sizes of sends and receives; completions of receives that were posted."""
    finder = _Finder(table, location)
    sender, receiver = messages["sender"].astype(np.int64), messages["receiver"].astype(np.int64)
    send = finder.rows(sender, messages["send"])
    posted = finder.rows(receiver, messages["receive"])
    taken = finder.rows(receiver, messages["received"], is_end=True)
    op = table["op"]
    sends = _is_of(op, send, OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV)
    both = _is_of(op, taken, OperationClass.SENDRECV)
    plain = _is_of(op, taken, OperationClass.RECV)
    nonblocking = _is_of(op, posted, OperationClass.IRECV) & (taken >= 0)
    usable = sends & (both | plain | nonblocking) & _is_once(send, sends)
    usable &= _is_once(np.where(nonblocking, posted, taken), usable)
    table["peer"][send[usable]] = rank_of[receiver[usable]]
    table["tag"][send[usable]] = messages["tag"][usable]
    table["sent"][send[usable]] = messages["bytes"][usable]
    into = np.where(nonblocking, posted, taken)
    one_way = usable & ~both | usable & nonblocking
    table["peer"][into[one_way]] = rank_of[sender[one_way]]
    table["tag"][into[one_way]] = messages["tag"][one_way]
    table["received"][into[usable]] = messages["bytes"][usable]
    combined = usable & both & ~nonblocking
    table["seq"][taken[combined]] = rank_of[sender[combined]]
    table["request"][taken[combined]] = messages["tag"][combined].astype(np.int64) + 1
    completions, where = _completions(table, messages, posted, receiver, usable & nonblocking)
    isends = np.flatnonzero(codes_mask([OperationClass.ISEND])[op])
    table["request"][isends] = len(completions) + 1 + np.arange(len(isends))
    return completions, where, int(np.count_nonzero(~usable))


def _completions(
    table: Table, messages: Table, posted: Rows, receiver: Rows, rows: Bools
) -> tuple[Table, Rows]:
    places = np.flatnonzero(rows)
    found = empty(COMPLETION_DTYPE) if not len(places) else np.zeros(len(places), COMPLETION_DTYPE)
    requests = 1 + np.arange(len(places))
    table["request"][posted[places]] = requests
    for column in ("op", "comm", "peer", "tag", "received", "seq"):
        found[column] = table[column][posted[places]]
    found["t0"] = found["t1"] = messages["received"][places]
    found["request"] = requests
    return found, receiver[places]


def _is_of(op: npt.NDArray[np.uint16], rows: Rows, *classes: OperationClass) -> Bools:
    result: Bools = (rows >= 0) & codes_mask(classes)[op[rows]] if len(op) else rows >= 0
    return result


def _is_once(rows: Rows, among: Bools) -> Bools:
    """Whether a message is the first of its call: a call holds one each way."""
    once = np.zeros(len(rows), np.bool_)
    places = np.flatnonzero(among)
    _, first = np.unique(rows[places], return_index=True)
    once[places[first]] = True
    return once
