"""For which message a call waits: receives for senders, sends for a receiver inside MPI."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Int32s, Ints, SmallCodes
from perfscope.matching.messages import nowhere
from perfscope.matching.pool import Pool
from perfscope.matching.rendezvous import Calls, Rendezvous
from perfscope.matching.waits import Waits
from perfscope.structures import dataclass
from perfscope.trace.model import PEER_PROC_NULL
from perfscope.trace.operations import OperationClass

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

    `send_of` has the send whose message a row receives or probes, `wait_of` the call in which a
    started operation completed; -1 none.
    """

    send_of: SmallCodes
    wait_of: SmallCodes
    started: Ints  # of each completed request: the row that created it, -1 not known
    finished: Ints  # the wait or test in which it completed, -1 not known
    explained: Bools  # rows of which is known for whom they wait
    polls: Bools  # tests that found nothing

    @classmethod
    def of(cls, waits: Waits) -> Exchanges:
        """Those of a run whose calls are matched."""
        pool, messages = waits.pool, waits.messages
        if not np.any(pool.is_of(*MESSAGE_CLASSES, OperationClass.I_COLLECTIVE)):
            return cls._none(len(pool))
        send_of = messages.send_of
        started, finished = waits.requests
        wait_of = nowhere(pool)
        known = (started >= 0) & (finished >= 0)
        wait_of[started[known]] = finished[known]
        explained = _explained(pool, send_of, messages.receive_of(pool))
        blind = known.copy()
        is_lost = (send_of < 0) & (pool.peer_number != PEER_PROC_NULL)
        blind[known] = (pool.is_of(OperationClass.IRECV) & is_lost)[started[known]]
        blind |= (finished >= 0) & (started < 0)
        explained[finished[blind]] = False
        has_completion = np.zeros(len(pool), np.bool_)
        has_completion[finished[finished >= 0]] = True
        polls = pool.is_of(OperationClass.TEST) & ~has_completion
        return cls(send_of, wait_of, started, finished, explained & ~polls, polls)

    @classmethod
    def _none(cls, rows: int) -> Exchanges:
        nowhere, empty = np.full(rows, -1, np.int32), np.empty(0, np.int64)
        never = np.zeros(rows, np.bool_)
        return cls(nowhere, nowhere, empty, empty, never, never)


def _explained(pool: Pool, send_of: SmallCodes, receive_of: SmallCodes) -> Bools:
    peer = pool.peer_number
    exchange = pool.is_of(OperationClass.SENDRECV)
    source = np.where(exchange, pool.seq, peer)
    sent = (receive_of >= 0) | (peer == PEER_PROC_NULL)
    got = (send_of >= 0) | (source == PEER_PROC_NULL)
    result: Bools = pool.is_of(OperationClass.IRECV, OperationClass.WAIT, OperationClass.TEST)
    result |= pool.is_of(OperationClass.SEND, OperationClass.ISEND) & sent
    result |= pool.is_of(OperationClass.RECV, OperationClass.PROBE) & got
    result |= exchange & sent & got
    return result


def message_needs(
    pool: Pool, exchanges: Exchanges, calls: Calls, call_of: Int32s
) -> tuple[Ints, Ints]:
    """Pairs (call, call whose arrival it needs) of all messages.

    `call_of` has the call of each row of the pool, -1 none.
    """
    receives = np.flatnonzero((exchanges.send_of >= 0) & ~pool.is_of(OperationClass.IRECV))
    known = (exchanges.started >= 0) & (exchanges.finished >= 0)
    started, finished = exchanges.started[known], exchanges.finished[known]
    arriving = exchanges.send_of[started] >= 0
    waiting = np.concatenate([receives, finished[arriving]])
    sends = exchanges.send_of[np.concatenate([receives, started[arriving]])]
    del known, receives, started, finished, arriving
    waiting, sends = call_of[waiting], call_of[sends]
    large = Rendezvous.of(pool, calls, send_of=exchanges.send_of, wait_of=exchanges.wait_of)
    row = np.concatenate([waiting, large.end[large.waits]])
    on = np.concatenate([sends, large.inside[large.waits]])
    del waiting, sends, large  # a long run has many
    usable = (row >= 0) & (on >= 0) & (row != on)
    return row[usable], on[usable]
