"""Which sends wait for their receivers, learned by size: the eager limit of the MPI library.

A send beyond the limit cannot complete before the receiver is inside MPI after both sides have
come: a posted receive is not enough, a busy receiver moves nothing (docs/metrics.md, section 7).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfscope.matching.collectives import SYNCHRONIZING_SHARE, TELLING_LAG_NS
from perfscope.matching.intervals import Times
from perfscope.matching.messages import Rows
from perfscope.matching.pool import Bools, Pool
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.trace.operations import FIRST_FRAMEWORK_CODE, OperationClass, codes_of

EAGER_BYTES = 4096
"""Every MPI library sends messages up to this size without waiting for the receiver."""

SYNCHRONOUS = codes_of("MPI_Ssend", "MPI_Issend")
SIZE_CLASSES = 65


@dataclass(frozen=True)
class Calls:
    """Calls of one thread of each rank, rank after rank in program order; they do not overlap."""

    pool_row: Rows
    enter: Times
    exit: Times
    starts: Rows  # where each rank's calls begin, shape (ranks + 1,)

    @classmethod
    def of_main_threads(cls, trace: Trace, pool: Pool) -> Calls:
        """All MPI calls of the main threads."""
        main_tid = np.array([rank.main_tid for rank in trace.ranks])
        is_main = (pool.tid == main_tid[pool.rank]) & (pool.op < FIRST_FRAMEWORK_CODE)
        rows = np.flatnonzero(is_main) if len(pool) else np.empty(0, np.int64)
        starts = np.searchsorted(pool.rank[rows], np.arange(len(trace.ranks) + 1))
        return cls(rows, pool.enter[rows], pool.exit[rows], starts.astype(np.int64))

    def place_of(self, pool: Pool) -> Rows:
        """The place of each row of the pool among the calls, -1 none; one more at the end, -1."""
        result = np.full(len(pool) + 1, -1, np.int64)
        result[self.pool_row] = np.arange(len(self.pool_row))
        return result


@dataclass(frozen=True)
class Rendezvous:
    """Sends of which is known when their receivers were inside MPI; places among calls.

    One element a send that is synchronous or larger than what every library sends at once.
    """

    end: Rows  # the call that completes the send: itself, or the wait on it
    inside: Rows  # the receiver's call
    waits: Bools  # whether `end` waits for `inside`

    @classmethod
    def of(cls, pool: Pool, calls: Calls, *, receive_of: Rows, wait_of: Rows) -> Rendezvous:
        """Looks at all sends.

        Args:
            pool: the operations.
            calls: in which receivers are inside MPI.
            receive_of: the receive of each send, -1 none; one element a row of the pool.
            wait_of: the call in which a started operation completed, -1 none.
        """
        place_of = calls.place_of(pool)
        sends = np.flatnonzero(receive_of >= 0)
        synchronous = np.isin(pool.op[sends], SYNCHRONOUS)
        sends = sends[synchronous | (pool.sent[sends] > EAGER_BYTES)]
        starts_only = pool.is_of(OperationClass.ISEND)[sends]
        end = place_of[np.where(starts_only, wait_of[sends], sends)]
        inside = _receiver_inside(pool, calls, place_of, sends, receive_of[sends])
        known = (end >= 0) & (inside >= 0)
        sends, end, inside = sends[known], end[known], inside[known]
        free = calls.enter[inside] > calls.enter[end] + TELLING_LAG_NS
        stayed = calls.exit[end] >= calls.enter[inside]
        synchronous = np.isin(pool.op[sends], SYNCHRONOUS)
        size_class = size_classes(pool.sent[sends])
        waiting = waiting_classes(
            size_class[~synchronous], free[~synchronous], stayed[~synchronous]
        )
        return cls(end, inside, (synchronous | waiting[size_class]) & stayed)


def _receiver_inside(pool: Pool, calls: Calls, place_of: Rows, sends: Rows, receive: Rows) -> Rows:
    """The call in which the receiver first was inside MPI once both sides had come, -1 none."""
    result = place_of[receive].copy()
    posted = np.flatnonzero(pool.is_of(OperationClass.IRECV)[receive] & (result >= 0))
    both = np.maximum(pool.enter[sends], pool.enter[receive])
    for rank in range(len(calls.starts) - 1):
        first, behind = int(calls.starts[rank]), int(calls.starts[rank + 1])
        own = posted[pool.rank[receive[posted]] == rank]
        place = first + np.searchsorted(calls.exit[first:behind], both[own], side="left")
        place = np.maximum(place, result[own])
        result[own] = np.where(place < behind, place, -1)
    return result


def size_classes(sizes: npt.NDArray[np.integer]) -> Rows:
    """The number of bits of each size in bytes; 0 where it is damaged and negative."""
    # as floats: the largest integer plus one would overflow
    bits = np.ceil(np.log2(np.maximum(sizes, 0).astype(np.float64) + 1.0))
    return np.asarray(bits.astype(np.int64))


def waiting_classes(size_class: Rows, free: Bools, stayed: Bools) -> Bools:
    """Of each size class, whether its sends wait; one that cannot tell is like the next smaller.

    Args:
        size_class: of each send, the number of bits of its bytes.
        free: whether it would have been clearly earlier without waiting for the receiver.
        stayed: whether it was still there when the receiver came.
    """
    told = np.bincount(size_class, free, minlength=SIZE_CLASSES)
    agreed = np.bincount(size_class, free & stayed, minlength=SIZE_CLASSES)
    waits = np.zeros(SIZE_CLASSES, np.bool_)
    for size in range(SIZE_CLASSES):
        waits[size] = (
            agreed[size] >= SYNCHRONIZING_SHARE * told[size] if told[size] else waits[size - 1]
        )
    return waits
