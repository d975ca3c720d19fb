"""Point-to-point messages: which send belongs to which receive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfscope.metrics.pool import Bools, Pool, dense, ordinals
from perfscope.trace.model import Trace
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


def match_messages(trace: Trace, pool: Pool, clocks_agree: Bools) -> Messages:
    """Matches sends and receives by (source, destination, tag, communicator, ordinal).

    MPI delivers messages of one source, tag and communicator in order, to receives in the order of
    their posting.

    Args:
        trace: the trace that the pool was made from.
        pool: its operations.
        clocks_agree: by communicator, whether the times of its members can be compared.
    """
    send_of = np.full(len(pool), -1, np.int64)
    usable = (pool.peer >= 0) & (pool.tag >= 0) & (pool.comm >= 0)
    if len(trace.communicators):
        usable &= clocks_agree[np.maximum(pool.comm, 0)]
    sends = np.flatnonzero(pool.is_of(OperationClass.SEND, OperationClass.ISEND) & usable)
    receives = np.flatnonzero(pool.is_of(OperationClass.RECV, OperationClass.IRECV) & usable)
    probes = np.flatnonzero(pool.is_of(OperationClass.PROBE) & usable)
    rows = np.concatenate([sends, receives, probes])
    incoming = np.concatenate([np.zeros(len(sends)), np.ones(len(receives) + len(probes))]) > 0
    source = np.where(incoming, pool.peer[rows], pool.rank[rows])
    target = np.where(incoming, pool.rank[rows], pool.peer[rows])
    channel = dense(source, target, pool.tag[rows], pool.comm[rows])
    sent, got = channel[: len(sends)], channel[len(sends) : len(sends) + len(receives)]
    sends, sent = _by_time(pool, sends, sent)
    receives, got = _by_time(pool, receives, got)
    ordinal_sent, ordinal_got = ordinals(sent), ordinals(got)
    partner = _find(sent, ordinal_sent, got, ordinal_got)
    found = partner >= 0
    send_of[receives[found]] = sends[partner[found]]
    asked = channel[len(sends) + len(receives) :]
    earlier = _received_before(pool, receives, got, probes, asked)
    probed = _find(sent, ordinal_sent, asked, earlier)
    send_of[probes[probed >= 0]] = sends[probed[probed >= 0]]
    taken = np.zeros(len(sends), np.bool_)
    taken[partner[found]] = True
    exchanged = _match_exchanges(pool, usable, send_of)
    unmatched = np.concatenate([receives[~found], sends[~taken], exchanged])
    return Messages(send_of, unmatched, int(np.count_nonzero(found)))


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


def _match_exchanges(pool: Pool, usable: Bools, send_of: Rows) -> Rows:
    """Combined sends and receives, whose source is not recorded: matched where only one can be it.

    That is so where exactly one rank exchanges towards a rank on the communicator, and both did so
    equally often, as in rings and between pairs.
    """
    rows = np.flatnonzero(pool.is_of(OperationClass.SENDRECV) & usable)
    if not len(rows):
        return rows
    sources: dict[tuple[int, int], list[int]] = {}
    for comm, target, source in set(
        zip(
            pool.comm[rows].tolist(),
            pool.peer[rows].tolist(),
            pool.rank[rows].tolist(),
            strict=True,
        )
    ):
        sources.setdefault((comm, target), []).append(source)
    unmatched = []
    for (comm, target), candidates in sorted(sources.items()):
        on_comm = rows[pool.comm[rows] == comm]
        incoming = on_comm[(pool.peer[on_comm] == target)]
        own = on_comm[pool.rank[on_comm] == target]
        if len(candidates) == 1 and len(incoming) == len(own):
            send_of[own] = incoming
        else:
            unmatched.append(own)
    return np.concatenate(unmatched) if unmatched else rows[:0]
