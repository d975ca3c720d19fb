"""Point-to-point messages: which send belongs to which receive."""

from __future__ import annotations

import numpy as np

from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.collectives import as_bytes, members_of
from perfscope.matching.message_pieces import ends_by_piece
from perfscope.matching.pool import Bools, Pool, Rows
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.trace.operations import OperationClass


@dataclass(frozen=True)
class Messages:
    """Matched messages and what found no partner, as rows of the pool."""

    send_of: Rows  # the send for every row that received or probed a message, -1 elsewhere
    unmatched_rows: Rows  # sends and receives without the other end, ascending
    # calls of which it is not known to or from which recorded rank their message went, ascending.
    # `MPI_PROC_NULL` is known to be nobody
    blind_rows: Rows
    matched: int  # messages of which both ends are known

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
