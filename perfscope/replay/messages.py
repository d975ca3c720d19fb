"""For which message a call waits: receives for senders, sends for a receiver inside MPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.metrics.collectives import TELLING_LAG_NS
from perfscope.metrics.messages import match_messages
from perfscope.metrics.waits import EAGER_BYTES, completed_requests
from perfscope.trace.model import PEER_PROC_NULL
from perfscope.trace.operations import OperationClass, codes_of

if TYPE_CHECKING:
    from perfscope.metrics.pool import Bools, Pool
    from perfscope.replay.program import Ints
    from perfscope.trace.model import Trace

SYNCHRONISING_SHARE = 0.95
SYNCHRONOUS = codes_of("MPI_Ssend", "MPI_Issend")
BLOCKING_RECEIVES = (OperationClass.RECV, OperationClass.SENDRECV)
MESSAGE_CLASSES = (
    OperationClass.SEND,
    OperationClass.RECV,
    OperationClass.SENDRECV,
    OperationClass.ISEND,
    OperationClass.IRECV,
    OperationClass.PROBE,
    OperationClass.WAIT,
    OperationClass.TEST,
)


@dataclass(frozen=True)
class Exchanges:
    """The messages of a run as rows of the pool; arrays have one element per row.

    `send_of` has the send whose message a row receives or probes, `receive_of` the receive of a
    send, `wait_of` the call in which a started operation completed; -1 none.
    """

    send_of: Ints
    receive_of: Ints
    wait_of: Ints
    started: Ints  # of each completed request: the row that created it, -1 not known
    finished: Ints  # the wait or test in which it completed, -1 not known
    explained: Bools  # rows of which is known for whom they wait
    polls: Bools  # tests that found nothing

    @classmethod
    def of(cls, trace: Trace, pool: Pool) -> Exchanges:
        """Matches the messages and requests of a run."""
        if not np.any(pool.is_of(*MESSAGE_CLASSES, OperationClass.I_COLLECTIVE)):
            return cls._none(len(pool))
        send_of = match_messages(trace, pool).send_of
        receive_of = np.full(len(pool), -1, np.int64)
        takes = pool.is_of(*BLOCKING_RECEIVES, OperationClass.IRECV) & (send_of >= 0)
        receive_of[send_of[takes]] = np.flatnonzero(takes)
        started, finished = completed_requests(trace, pool)
        wait_of = np.full(len(pool), -1, np.int64)
        known = (started >= 0) & (finished >= 0)
        wait_of[started[known]] = finished[known]
        explained = _explained(trace, pool, send_of, receive_of)
        blind = known.copy()
        blind[known] = (pool.is_of(OperationClass.IRECV) & (send_of < 0))[started[known]]
        blind |= (finished >= 0) & (started < 0)
        explained[finished[blind]] = False
        has_completion = np.zeros(len(pool), np.bool_)
        has_completion[finished[finished >= 0]] = True
        polls = pool.is_of(OperationClass.TEST) & ~has_completion
        return cls(send_of, receive_of, wait_of, started, finished, explained & ~polls, polls)

    @classmethod
    def _none(cls, rows: int) -> Exchanges:
        nowhere, empty = np.full(rows, -1, np.int64), np.empty(0, np.int64)
        never = np.zeros(rows, np.bool_)
        return cls(nowhere, nowhere, nowhere, empty, empty, never, never)


def _explained(trace: Trace, pool: Pool, send_of: Ints, receive_of: Ints) -> Bools:
    peer = np.concatenate([rank.operations["peer"] for rank in trace.ranks])
    exchange = pool.is_of(OperationClass.SENDRECV)
    source = np.where(exchange, pool.seq, peer)
    sent = (receive_of >= 0) | (peer == PEER_PROC_NULL)
    got = (send_of >= 0) | (source == PEER_PROC_NULL)
    result: Bools = pool.is_of(OperationClass.IRECV, OperationClass.WAIT, OperationClass.TEST)
    result |= pool.is_of(OperationClass.SEND, OperationClass.ISEND) & sent
    result |= pool.is_of(OperationClass.RECV, OperationClass.PROBE) & got
    result |= exchange & sent & got
    return result


@dataclass(frozen=True)
class Calls:
    """Times of the replayed calls, rank after rank in program order; they do not overlap."""

    pool_row: Ints
    enter: Ints
    exit: Ints
    starts: Ints  # where each rank's calls begin, shape (ranks + 1,)


def message_needs(pool: Pool, exchanges: Exchanges, calls: Calls) -> tuple[Ints, Ints]:
    """Pairs (call, call whose arrival it needs) of all messages."""
    call_of = np.full(len(pool) + 1, -1, np.int64)  # the last one for "none"
    call_of[calls.pool_row] = np.arange(len(calls.pool_row))
    receives = calls.pool_row[exchanges.send_of[calls.pool_row] >= 0]
    receives = receives[~pool.is_of(OperationClass.IRECV)[receives]]
    known = (exchanges.started >= 0) & (exchanges.finished >= 0)
    started, finished = exchanges.started[known], exchanges.finished[known]
    arriving = exchanges.send_of[started] >= 0
    waiting = np.concatenate([receives, finished[arriving]])
    sends = exchanges.send_of[np.concatenate([receives, started[arriving]])]
    sender = _Rendezvous(pool, exchanges, calls, call_of).pairs()
    row = np.concatenate([call_of[waiting], sender[0]])
    on = np.concatenate([call_of[sends], sender[1]])
    usable = (row >= 0) & (on >= 0) & (row != on)
    return row[usable], on[usable]


@dataclass(frozen=True)
class _Rendezvous:
    """Which sends wait for their receivers, learned by size: the library's eager limit."""

    pool: Pool
    exchanges: Exchanges
    calls: Calls
    call_of: Ints

    def pairs(self) -> tuple[Ints, Ints]:
        """Pairs (call that completes a send, call in which the receiver was inside MPI)."""
        pool, calls = self.pool, self.calls
        sends = np.flatnonzero(self.exchanges.receive_of >= 0)
        synchronous = np.isin(pool.op[sends], SYNCHRONOUS)
        sends = sends[synchronous | (pool.sent[sends] > EAGER_BYTES)]
        starts_only = pool.is_of(OperationClass.ISEND)[sends]
        ends = self.call_of[np.where(starts_only, self.exchanges.wait_of[sends], sends)]
        inside = self._receiver_inside(sends)
        known = (ends >= 0) & (inside >= 0)
        sends, ends, inside = sends[known], ends[known], inside[known]
        free = calls.enter[inside] > calls.enter[ends] + TELLING_LAG_NS
        stayed = calls.exit[ends] >= calls.enter[inside]
        synchronous = np.isin(pool.op[sends], SYNCHRONOUS)
        size_class = np.ceil(np.log2(pool.sent[sends] + 1)).astype(np.int64)
        waits = _waiting_classes(size_class[~synchronous], free[~synchronous], stayed[~synchronous])
        chosen = (synchronous | waits[size_class]) & stayed
        return ends[chosen], inside[chosen]

    def _receiver_inside(self, sends: Ints) -> Ints:
        """The call in which the receiver first was inside MPI once both sides had come."""
        pool, calls = self.pool, self.calls
        receive = self.exchanges.receive_of[sends]
        result = self.call_of[receive].copy()
        posted = np.flatnonzero(pool.is_of(OperationClass.IRECV)[receive] & (result >= 0))
        both = np.maximum(pool.enter[sends], pool.enter[receive])
        for rank in range(len(calls.starts) - 1):
            first, behind = int(calls.starts[rank]), int(calls.starts[rank + 1])
            own = posted[pool.rank[receive[posted]] == rank]
            place = first + np.searchsorted(calls.exit[first:behind], both[own], side="left")
            place = np.maximum(place, result[own])
            result[own] = np.where(place < behind, place, -1)
        return result


def _waiting_classes(size_class: Ints, free: Bools, stayed: Bools) -> npt.NDArray[np.bool_]:
    """Of each size class, whether its sends wait; one that cannot tell is like the next smaller."""
    told = np.bincount(size_class, free, minlength=65)
    agreed = np.bincount(size_class, free & stayed, minlength=65)
    waits = np.zeros(65, np.bool_)
    for size in range(65):
        waits[size] = (
            agreed[size] >= SYNCHRONISING_SHARE * told[size] if told[size] else waits[size - 1]
        )
    return waits
