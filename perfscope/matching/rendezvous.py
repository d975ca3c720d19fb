"""Which sends wait for their receivers, learned by size: the eager limit of the MPI library.

A send beyond the limit cannot complete before the receiver is inside MPI after both sides have
come: a posted receive is not enough, a busy receiver moves nothing (docs/metrics.md, section 7).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, SmallCodes
from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import Pool, Rows
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Calls:
    """Calls of one thread of each rank, rank after rank in program order; they do not overlap."""

    pool_row: SmallCodes
    enter: Times
    exit: Times
    starts: Rows  # where each rank's calls begin, shape (ranks + 1,)


@dataclass(frozen=True)
class Rendezvous:
    """Sends of which is known when their receivers were inside MPI; places among calls.

    One element a send that is synchronous or larger than what every library sends at once.
    """

    end: Rows  # the call that completes the send: itself, or the wait on it
    inside: Rows  # the receiver's call
    waits: Bools  # whether `end` waits for `inside`

    @classmethod
    def of(
        cls, pool: Pool, calls: Calls, *, send_of: SmallCodes, wait_of: SmallCodes
    ) -> Rendezvous:
        """Looks at all sends.

        `send_of` is the send of each receive and `wait_of` the call in which a started operation
        completed, -1 none; one element a row of the pool.
        """
        threads = calls.pool_row, calls.enter, calls.exit, calls.starts
        end, inside, waits = engine.find_rendezvous(pool, CODES, threads, send_of, wait_of)
        return cls(end, inside, waits.view(np.bool_))


def size_classes(sizes: npt.NDArray[np.integer]) -> Rows:
    """The number of bits of each size in bytes; 0 where it is damaged and negative."""
    # as floats: the largest integer plus one would overflow
    bits = np.ceil(np.log2(np.maximum(sizes, 0).astype(np.float64) + 1.0))
    return np.asarray(bits.astype(np.int64))
