"""Splits every operation into waiting for others and transfer (docs/metrics.md, section 3)."""

import numpy as np
import numpy.typing as npt

from perfscope.matching.clock_check import ClockCheck, check_clocks
from perfscope.matching.collectives import Instances, Matched, match_collectives
from perfscope.matching.intervals import Times
from perfscope.matching.messages import Messages, blind_rows, match_messages
from perfscope.matching.pool import Bools, Pool
from perfscope.matching.rendezvous import EAGER_BYTES, SYNCHRONOUS, Calls, Rendezvous
from perfscope.matching.requests import completed_requests
from perfscope.structures import dataclass
from perfscope.trace.model import PEER_PROC_NULL, Trace
from perfscope.trace.operations import OperationClass, name_of

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Waits:
    """The split of every operation: [enter, need) is wait, [need, exit) transfer, where `known`.

    Columns are aligned with `pool`; `cause` is the row of the operation that set need, -1 where
    nobody else did; `for_receiver` tells where that was the receiver of a message.
    """

    pool: Pool
    need: Times
    known: Bools
    cause: Rows
    for_receiver: Bools
    instances: Instances
    messages: Messages
    matched_calls: int
    unmatched: dict[str, int]
    clocks: ClockCheck

    def of_rank(self, position: int) -> slice:
        """The rows of the rank at a position of `Trace.ranks`."""
        return slice(int(self.pool.offsets[position]), int(self.pool.offsets[position + 1]))


def split_operations(trace: Trace) -> Waits:
    """The wait and transfer of every recorded operation of every thread."""
    pool = Pool.of(trace.ranks, [rank.operations for rank in trace.ranks])
    collectives = match_collectives(trace, pool)
    messages = match_messages(trace, pool)
    requests = completed_requests(trace, pool)
    clocks = check_clocks(trace, pool, collectives.instances, messages, requests)
    if clocks.reason:
        collectives = match_collectives(trace, pool, clocks.comparable)
        messages = match_messages(trace, pool, clocks.comparable)
    need, known = pool.enter.copy(), np.zeros(len(pool), np.bool_)
    cause = np.full(len(pool), -1, np.int64)
    _collective_needs(pool, collectives, need, known, cause)
    _message_needs(pool, messages, need, known, cause)
    if not clocks.reason:
        _finalize_needs(pool, need, known, cause)
    posted = _Posted(pool, collectives.instances, messages)
    _completion_needs(posted, requests, need, known, cause)
    receivers = _rendezvous_needs(trace, posted, requests, need, known, cause)
    need = np.clip(need, pool.enter, pool.exit)
    lost = _lost(pool, collectives, messages)
    matched = len(collectives.instances.members) + 2 * messages.matched
    instances = collectives.instances
    return Waits(pool, need, known, cause, receivers, instances, messages, matched, lost, clocks)


def _collective_needs(pool: Pool, matched: Matched, need: Times, known: Bools, cause: Rows) -> None:
    instances = matched.instances
    blocking = ~pool.is_of(OperationClass.I_COLLECTIVE)[instances.members]
    rows = instances.members[blocking]
    need[rows], known[rows] = instances.need[blocking], True
    setter = instances.cause[blocking]
    cause[rows] = np.where(setter != rows, setter, -1)
    # a rank that never came: all of the call was waiting for it
    need[matched.waiting_rows] = pool.exit[matched.waiting_rows]
    known[matched.waiting_rows] = True


def _message_needs(pool: Pool, messages: Messages, need: Times, known: Bools, cause: Rows) -> None:
    waits_for_sender = pool.is_of(
        OperationClass.RECV, OperationClass.PROBE, OperationClass.SENDRECV
    )
    rows = np.flatnonzero(waits_for_sender & (messages.send_of >= 0))
    sender = messages.send_of[rows]
    need[rows], known[rows] = pool.enter[sender], True
    cause[rows] = np.where(pool.enter[sender] > pool.enter[rows], sender, -1)
    eager = pool.is_of(OperationClass.SEND) & (pool.sent <= EAGER_BYTES)
    eager &= ~np.isin(pool.op, SYNCHRONOUS)
    known |= eager | pool.is_of(OperationClass.ISEND, OperationClass.IRECV)
    known |= pool.is_of(OperationClass.I_COLLECTIVE)
    # MPI_PROC_NULL is nobody, and nobody is waited for
    one_way = (OperationClass.SEND, OperationClass.RECV, OperationClass.PROBE)
    known |= pool.is_of(*one_way) & (pool.peer_number == PEER_PROC_NULL)
    # a combined call that receives from nobody is a send
    alone = pool.is_of(OperationClass.SENDRECV) & (pool.seq == PEER_PROC_NULL)
    known |= alone & (pool.sent <= EAGER_BYTES)
    polls = pool.is_of(OperationClass.TEST)
    need[polls], known[polls] = pool.exit[polls], True


def _finalize_needs(pool: Pool, need: Times, known: Bools, cause: Rows) -> None:
    """Ranks already in MPI_Finalize wait for the last one to enter it."""
    rows = np.flatnonzero(pool.is_of(OperationClass.FINALIZE))
    if not len(rows):
        return
    last = rows[int(np.argmax(pool.enter[rows]))]
    need[rows], known[rows] = pool.enter[last], True
    cause[rows] = np.where(rows != last, last, -1)


@dataclass(frozen=True)
class _Posted:
    """What the requests that nonblocking calls created stand for."""

    pool: Pool
    instances: Instances
    messages: Messages

    def needs(self) -> tuple[Times, Rows]:
        """Need and its cause of what each row started; need -1 where it is not known."""
        need = np.full(len(self.pool), -1, np.int64)
        cause = np.full(len(self.pool), -1, np.int64)
        started = self.pool.is_of(OperationClass.I_COLLECTIVE)[self.instances.members]
        rows = self.instances.members[started]
        need[rows], cause[rows] = self.instances.need[started], self.instances.cause[started]
        received = self.pool.is_of(OperationClass.IRECV) & (self.messages.send_of >= 0)
        rows = np.flatnonzero(received)
        need[rows] = self.pool.enter[self.messages.send_of[rows]]
        cause[rows] = self.messages.send_of[rows]
        return need, cause


def _completion_needs(
    posted: _Posted, requests: tuple[Rows, Rows], need: Times, known: Bools, cause: Rows
) -> None:
    """Gives waits and tests the latest need of what completed inside them."""
    started, waits = requests
    if not len(started):
        return
    posted_need, posted_cause = posted.needs()
    usable = (started >= 0) & (waits >= 0)
    usable[usable] = posted_need[started[usable]] >= 0
    rows, first = waits[usable], started[usable]
    if not len(rows):
        return
    tests = rows[posted.pool.is_of(OperationClass.TEST, rows=rows)]
    need[tests] = posted.pool.enter[tests]
    order = np.argsort(posted_need[first], kind="stable")  # the latest need is written last
    rows, first = rows[order], first[order]
    later = posted_need[first] > need[rows]
    cause[rows[later]] = posted_cause[first[later]]
    np.maximum.at(need, rows, posted_need[first])
    known[rows] = True


def _rendezvous_needs(
    trace: Trace,
    posted: _Posted,
    requests: tuple[Rows, Rows],
    need: Times,
    known: Bools,
    cause: Rows,
) -> Bools:
    """Large sends, and waits on them, complete when the receiver is inside MPI, or wait for nobody.

    A wait is known when all that completes in it is. Returns which rows wait for a receiver.
    """
    pool, (started, finished) = posted.pool, requests
    for_receiver = np.zeros(len(pool), np.bool_)
    sends = pool.is_of(OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV)
    if not np.any(sends):
        return for_receiver
    wait_of = np.full(len(pool), -1, np.int64)
    matched = (started >= 0) & (finished >= 0)
    wait_of[started[matched]] = finished[matched]
    calls = Calls.of_main_threads(trace, pool)
    receive_of = posted.messages.receive_of(pool)
    found = Rendezvous.of(pool, calls, receive_of=receive_of, wait_of=wait_of)
    end, inside = calls.pool_row[found.end], calls.pool_row[found.inside]
    known[end[pool.is_of(OperationClass.SEND)[end]]] = True
    _sends_completed(posted, wait_of, end, known)
    end, inside = end[found.waits], inside[found.waits]
    order = np.argsort(pool.enter[inside], kind="stable")
    end, inside = end[order], inside[order]
    later = pool.enter[inside] > need[end]
    cause[end[later]] = inside[later]
    for_receiver[end[later]] = True
    np.maximum.at(need, end, pool.enter[inside])
    return for_receiver


def _sends_completed(posted: _Posted, wait_of: Rows, end: Rows, known: Bools) -> None:
    """Makes waits known in which nothing completes but sends of which it is known when they can."""
    pool = posted.pool
    small = pool.is_of(OperationClass.ISEND) & (pool.sent <= EAGER_BYTES) & (wait_of >= 0)
    small &= ~np.isin(pool.op, SYNCHRONOUS)
    told = np.zeros(len(pool), np.int64)
    np.add.at(told, end, 1)
    np.add.at(told, wait_of[small], 1)
    started = np.bincount(wait_of[wait_of >= 0], minlength=len(pool))
    known |= pool.is_of(OperationClass.WAIT) & (told > 0) & (told >= started)


def _lost(pool: Pool, collectives: Matched, messages: Messages) -> dict[str, int]:
    """Calls without their partners by name; also those whose partner is not known."""
    unmatched = (collectives.unmatched_rows, messages.unmatched_rows, blind_rows(pool))
    rows = np.unique(np.concatenate(unmatched))
    codes, counts = np.unique(pool.op[rows], return_counts=True)
    return {
        name_of(code): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    }
