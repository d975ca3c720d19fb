"""Point-to-point messages: which send belongs to which receive."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfscope.matching.pool import Bools, Pool, dense, ordinals
from perfscope.structures import dataclass
from perfscope.trace.model import PEER_NONE, PEER_PROC_NULL, Trace
from perfscope.trace.operations import OperationClass

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Messages:
    """Matched messages and what found no partner, as rows of the pool.

    `send_of` has the row of the send for every row that received or probed a message, -1 elsewhere.
    """

    send_of: Rows
    unmatched_rows: Rows
    matched: int

    def receive_of(self, pool: Pool) -> Rows:
        """The row of the receive for every send that found one, -1 elsewhere."""
        result = np.full(len(pool), -1, np.int64)
        takes = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV, OperationClass.IRECV)
        rows = np.flatnonzero(takes & (self.send_of >= 0))
        result[self.send_of[rows]] = rows
        return result


def match_messages(trace: Trace, pool: Pool, clocks_agree: Bools | None = None) -> Messages:
    """Matches sends and receives by (source, destination, tag, communicator, ordinal).

    MPI delivers messages of one source, tag and communicator in order, to receives in the order of
    their posting.

    Args:
        trace: the trace that the pool was made from.
        pool: its operations.
        clocks_agree: by communicator, whether the times of its members can be compared; None: all.
    """
    sides = _Sides.of(trace, pool, clocks_agree)
    send_of = np.full(len(pool), -1, np.int64)
    channel = dense(
        np.concatenate([side.source for side in sides.all()]),
        np.concatenate([side.target for side in sides.all()]),
        np.concatenate([side.tag for side in sides.all()]),
        np.concatenate([pool.comm[side.rows] for side in sides.all()]),
    )
    ends = np.cumsum([len(side.rows) for side in sides.all()])
    sends, sent = _by_time(pool, sides.sends.rows, channel[: ends[0]])
    receives, got = _by_time(pool, sides.receives.rows, channel[ends[0] : ends[1]])
    probes, asked = sides.probes.rows, channel[ends[1] :]
    ordinal_sent, ordinal_got = ordinals(sent), ordinals(got)
    partner = _find(sent, ordinal_sent, got, ordinal_got)
    found = partner >= 0
    send_of[receives[found]] = sends[partner[found]]
    earlier = _received_before(pool, receives, got, probes, asked)
    probed = _find(sent, ordinal_sent, asked, earlier)
    send_of[probes[probed >= 0]] = sends[probed[probed >= 0]]
    taken = np.zeros(len(sends), np.bool_)
    taken[partner[found]] = True
    unmatched = np.unique(np.concatenate([receives[~found], sends[~taken]]))
    return Messages(send_of, unmatched, int(np.count_nonzero(found)))


def blind_rows(pool: Pool) -> Rows:
    """Rows of messages of which it is not known to or from which recorded rank they went.

    `MPI_PROC_NULL` is known to be nobody. Formats that only record messages name no peer there: of
    these a receive alone is blind, as all it does is to wait for somebody.
    """
    receives = pool.is_of(OperationClass.RECV, OperationClass.PROBE)
    others = pool.is_of(
        OperationClass.SEND, OperationClass.ISEND, OperationClass.IRECV, OperationClass.SENDRECV
    )
    lost = (pool.peer < 0) & (pool.peer_number != PEER_PROC_NULL)
    result = lost & (receives | (others & (pool.peer_number != PEER_NONE)))
    exchanges = np.flatnonzero(pool.is_of(OperationClass.SENDRECV))
    source = pool.seq[exchanges]
    known = (pool.positions_of(source) >= 0) | np.isin(source, (PEER_PROC_NULL, PEER_NONE))
    result[exchanges] |= ~known
    return np.flatnonzero(result)


@dataclass(frozen=True)
class _Side:
    """Rows that send, receive or probe, and the message's source, target (positions) and tag."""

    rows: Rows
    source: Rows
    target: Rows
    tag: Rows

    def only(self, usable: Bools) -> _Side:
        return _Side(self.rows[usable], self.source[usable], self.target[usable], self.tag[usable])


@dataclass(frozen=True)
class _Sides:
    """Both ends of all messages; a combined send and receive is on both."""

    sends: _Side
    receives: _Side
    probes: _Side

    @classmethod
    def of(cls, trace: Trace, pool: Pool, clocks_agree: Bools | None) -> _Sides:
        on_comm = pool.comm >= 0
        if clocks_agree is not None and len(trace.communicators):
            on_comm &= clocks_agree[np.maximum(pool.comm, 0)]

        def usable(side: _Side) -> _Side:
            known = (side.source >= 0) & (side.target >= 0) & (side.tag >= 0)
            return side.only(known & on_comm[side.rows])

        def rows_of(*classes: OperationClass) -> Rows:
            return np.flatnonzero(pool.is_of(*classes))

        def outgoing(rows: Rows) -> _Side:
            peer, tag = pool.peer[rows].astype(np.int64), pool.tag[rows].astype(np.int64)
            return _Side(rows, pool.rank[rows], peer, tag)

        def incoming(rows: Rows) -> _Side:
            peer, tag = pool.peer[rows].astype(np.int64), pool.tag[rows].astype(np.int64)
            return _Side(rows, peer, pool.rank[rows], tag)

        exchanges = rows_of(OperationClass.SENDRECV)
        got = _Side(
            exchanges,
            pool.positions_of(pool.seq[exchanges]),
            pool.rank[exchanges],
            pool.request[exchanges] - 1,
        )
        sends = rows_of(OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV)
        receives = incoming(rows_of(OperationClass.RECV, OperationClass.IRECV))
        pairs = zip(vars(receives).values(), vars(got).values(), strict=True)
        return cls(
            sends=usable(outgoing(sends)),
            receives=usable(_Side(*(np.concatenate(pair) for pair in pairs))),
            probes=usable(incoming(rows_of(OperationClass.PROBE))),
        )

    def all(self) -> tuple[_Side, _Side, _Side]:
        return self.sends, self.receives, self.probes


def _by_time(pool: Pool, rows: Rows, channel: Rows) -> tuple[Rows, Rows]:
    order = np.lexsort((pool.enter[rows], channel))
    return rows[order], channel[order]


def _find(keys: Rows, ordinal: Rows, wanted: Rows, wanted_ordinal: Rows) -> Rows:
    """Where (key, ordinal) pairs, sorted, hold the wanted pairs; -1 where they do not."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    # within a key the ordinals are 0, 1, 2, ...: the place is that of the key plus the ordinal
    place = np.searchsorted(keys, wanted) + wanted_ordinal
    inside = np.minimum(place, len(keys) - 1)
    same = (place < len(keys)) & (keys[inside] == wanted) & (ordinal[inside] == wanted_ordinal)
    return np.where(same, inside, -1)


def _received_before(pool: Pool, receives: Rows, got: Rows, probes: Rows, asked: Rows) -> Rows:
    """How many receives of its channel were posted before each probe: which message it saw."""
    rows = np.concatenate([receives, probes])
    channel = np.concatenate([got, asked])
    is_receive = np.arange(len(rows)) < len(receives)
    order = np.lexsort((is_receive, pool.enter[rows], channel))
    before = np.concatenate([[0], np.cumsum(is_receive[order])])[:-1]
    ordered = channel[order]
    first = np.ones(len(rows), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    base = before[np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))]
    result = np.empty(len(rows), np.int64)
    result[order] = before - base
    return result[len(receives) :]
