"""Point-to-point messages: which send belongs to which receive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, SmallCodes, narrowest
from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.collectives import as_bytes, members_of
from perfscope.matching.pool import Pool, Rows, dense
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.trace.operations import OperationClass


@dataclass(frozen=True)
class MessageEnds:
    """Both ends of messages, sends before receives; a combined call stands twice."""

    rows: Rows  # of the pool
    sends: int  # how many of them are sends
    combined: Bools  # whether an end is the receive of a combined call
    channel: Rows  # number of its source, destination, communicator, tag and piece
    tag: Rows  # number of its tag and piece, -1 where the tag is not known

    def apart(self, pool: Pool, refused: Rows | None = None) -> Pool:
        """The operations with other tags: those of messages in different pieces differ.

        What was sent in one piece and received in another cannot be counted off where parts
        between them are missing. Where a channel has more of one end than of the other, none of
        these is matched.

        Of `refused` channels none is matched either.
        """
        surplus = np.bincount(self.channel[: self.sends], minlength=len(self.rows) + 1)
        surplus -= np.bincount(self.channel[self.sends :], minlength=len(self.rows) + 1)
        if refused is not None:
            surplus[refused] = 1
        own = np.where(surplus[self.channel] != 0, -1, self.tag)
        tag, request = pool.tag.copy(), pool.request.copy()
        tag[pool.is_of(OperationClass.PROBE)] = -1
        tag[self.rows[~self.combined]] = own[~self.combined]
        request[self.rows[self.combined]] = own[self.combined] + 1
        return replace(pool, tag=tag, request=request)

    def impossible(self, pool: Pool, send_of: SmallCodes) -> Rows:
        """Channels in which a message would arrive before it was sent: they began elsewhere."""
        takes, channel = self.rows[self.sends :], self.channel[self.sends :]
        send = send_of[takes]
        is_early = (send >= 0) & (pool.exit[takes] < pool.enter[np.maximum(send, 0)])
        return np.unique(channel[is_early])


def ends_by_piece(pool: Pool, starts_ns: Rows) -> MessageEnds:
    """The ends of all messages, told apart by piece.

    `starts_ns` is the begin of each piece, shape (ranks, pieces).
    """
    piece = np.zeros(len(pool), np.int64)
    for position, starts in enumerate(starts_ns):
        own = slice(int(pool.offsets[position]), int(pool.offsets[position + 1]))
        piece[own] = np.searchsorted(starts, pool.enter[own], side="right")
    both = pool.is_of(OperationClass.SENDRECV)
    sends = np.flatnonzero(pool.is_of(OperationClass.SEND, OperationClass.ISEND) | both)
    takes = np.flatnonzero(pool.is_of(OperationClass.RECV, OperationClass.IRECV) | both)
    taken = both[takes]
    tags = np.concatenate(
        [pool.tag[sends], np.where(taken, pool.request[takes] - 1, pool.tag[takes])]
    ).astype(np.int64)
    source = np.where(taken, _positions(pool, takes), pool.peer[takes])
    rows = np.concatenate([sends, takes])
    sender = np.concatenate([pool.rank[sends], source])
    receiver = np.concatenate([pool.peer[sends], pool.rank[takes]])
    part, comm = piece[rows], pool.comm[rows].astype(np.int64)
    return MessageEnds(
        rows=rows,
        sends=len(sends),
        combined=np.concatenate([np.zeros(len(sends), np.bool_), taken]),
        channel=dense(sender, receiver, comm, tags, part),
        tag=np.where(tags < 0, -1, dense(tags, part)),
    )


def _positions(pool: Pool, rows: Rows) -> Rows:
    """Of combined calls: the position of the rank that they received from, -1 none."""
    size = int(pool.numbers.max(initial=0)) + 2
    table = np.full(size, -1, np.int64)
    table[pool.numbers] = np.arange(len(pool.numbers))
    numbers = pool.seq[rows]
    return table[np.where((numbers >= 0) & (numbers < size - 1), numbers, size - 1)]


@dataclass(frozen=True)
class Messages:
    """Matched messages and what found no partner, as rows of the pool."""

    send_of: SmallCodes  # the send for every row that received or probed a message, -1 elsewhere
    unmatched_rows: Rows  # sends and receives without the other end, ascending
    # calls of which it is not known to or from which recorded rank their message went, ascending.
    # `MPI_PROC_NULL` is known to be nobody
    blind_rows: Rows
    matched: int  # messages of which both ends are known

    def receive_of(self, pool: Pool) -> SmallCodes:
        """The row of the receive for every send that found one, -1 elsewhere."""
        result = nowhere(pool)
        takes = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV, OperationClass.IRECV)
        rows = np.flatnonzero(takes & (self.send_of >= 0))
        result[self.send_of[rows]] = rows
        return result


def nowhere(pool: Pool) -> SmallCodes:
    """A row of the pool for each of its rows, all of which are -1, none."""
    return np.full(len(pool), -1, narrowest([np.array([-1, len(pool)])]))


def match_messages(trace: Trace, pool: Pool, clocks_agree: Bools | None = None) -> Messages:
    """Matches sends and receives by (source, destination, tag, communicator, ordinal).

    MPI delivers messages of one source, tag and communicator in order, to receives in the order of
    their posting. In a run that was put together from pieces the order counts within each.

    `clocks_agree` says by communicator whether the times of its members can be compared; None: all.
    """

    def matched(rows: Pool) -> Messages:
        members = members_of(trace)
        return Messages(*engine.match_messages(rows, CODES, *members, as_bytes(clocks_agree)))

    if trace.kept is None:
        return matched(pool)
    ends = ends_by_piece(pool, trace.kept.starts_ns)
    found = matched(ends.apart(pool))
    if len(impossible := ends.impossible(pool, found.send_of)):
        found = matched(ends.apart(pool, impossible))
    return found
