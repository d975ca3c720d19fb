"""Collective instances: which calls belong together, and the earliest that each could complete."""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, SmallCodes, narrowed
from perfscope.engine import engine
from perfscope.matching.codes import CODES, N_TO_N_CODES, TO_ALL_CODES, TO_ROOT_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import Pool, Rows
from perfscope.structures import dataclass
from perfscope.trace.model import Trace


@dataclass(frozen=True)
class Instances:
    """Collective operations, one row per instance that every member recorded.

    `members` are rows of the pool, instance after instance and ordered by rank; instance k has
    `members[starts[k]:starts[k + 1]]`. `need` is aligned with `members`.
    """

    comm: Ints
    seq: Ints
    op: Ints
    starts: Ints  # (instances + 1,)
    members: Ints
    need: Times
    last: Ints  # row of the pool that arrived last
    cause: Ints  # aligned with members: row of the pool that set need
    synchronizing: Bools  # nobody leaves before everybody has come

    def __len__(self) -> int:
        return len(self.comm)

    def carried(self, pool: Pool) -> tuple[Ints, Ints]:
        """What each carried at most for a member, in bytes, and how long it took, in ns.

        It begins when the last member enters, and ends when the last one leaves.
        """
        columns = (pool.enter, pool.exit, pool.sent, pool.received)
        size, ns = engine.carried_by(columns, self.starts, self.members)
        vars(self)["_size"] = narrowed(size)
        return size, ns

    def size(self, pool: Pool) -> SmallCodes:
        """What each carried at most for a member, in bytes: of a long run found but once."""
        known: SmallCodes | None = vars(self).get("_size")
        return narrowed(self.carried(pool)[0]) if known is None else known

    @property
    def instance_of_member(self) -> Ints:
        """Which instance each member belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@dataclass(frozen=True)
class Matched:
    """Complete instances, calls without their partners, and calls that still waited at the end."""

    instances: Instances
    unmatched_rows: Ints
    waiting_rows: Ints
    """Calls in which a rank was still waiting for a member when it ended."""


def match_collectives(trace: Trace, pool: Pool, clocks_agree: Bools | None = None) -> Matched:
    """Groups the collective calls of all ranks by communicator and sequence number.

    `clocks_agree` says by communicator whether the times of its members can be compared; None: all.
    """
    found = engine.match_collectives(pool, CODES, *members_of(trace), as_bytes(clocks_agree))
    unmatched, waiting = found.pop("unmatched"), found.pop("waiting")
    synchronizing = found.pop("synchronizing").view(np.bool_)
    return Matched(Instances(**found, synchronizing=synchronizing), unmatched, waiting)


def members_of(trace: Trace) -> tuple[Rows, Rows]:
    """Where members of each communicator begin, shape (communicators + 1,), and their numbers."""
    sizes = [communicator.size for communicator in trace.communicators]
    members = chain.from_iterable(communicator.members for communicator in trace.communicators)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, np.fromiter(members, np.int64, int(starts[-1]))


def as_bytes(marks: Bools | None) -> npt.NDArray[np.uint8] | None:
    """As the engine takes them."""
    return None if marks is None else marks.view(np.uint8)


def silent_members(pool: Pool, members: Ints, begin: Ints, group: Ints, op: Ints) -> Bools:
    """Who contributes no byte where others do, so that nobody has to wait for it.

    `members` are rows of the pool, instance after instance; each instance has a `begin` in them and
    an operation, each member the `group` that it is of.
    """
    if not len(begin):
        return np.zeros(0, np.bool_)
    sent = pool.sent[members]
    some = np.maximum.reduceat(sent, begin) > 0
    result: Bools = (some & N_TO_N_CODES[op])[group] & (sent == 0)
    return result


def rooted_need(
    pool: Pool, members: Ints, begin: Ints, group: Ints, op: Ints, latest: Times
) -> Times:
    """Need of rooted operations if they do not synchronize; own arrival for all others."""
    enter = pool.enter[members]
    is_root = pool.peer[members] == pool.rank[members]
    root_enter = np.maximum.reduceat(np.where(is_root, enter, np.iinfo(np.int64).min), begin)
    need = np.where(TO_ALL_CODES[op][group], np.maximum(enter, root_enter[group]), enter)
    return np.where(TO_ROOT_CODES[op][group] & is_root, latest[group], need)
