"""Collective instances: which calls belong together, and before what they could not complete."""

import numpy as np
import numpy.typing as npt

from perfscope.matching.intervals import Times
from perfscope.matching.pool import Bools, Pool, dense
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import BLOCKING_FORM, asynchronous_codes
from perfscope.trace.model import RowFlag, Trace
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, code_of, codes_mask

TELLING_LAG_NS = 100_000
"""An arrival so much earlier than the last can show whether an operation waits for the last."""

SYNCHRONIZING_SHARE = 0.95

_I_TO_ALL = [code_of(f"MPI_I{name}") for name in ("bcast", "scatter", "scatterv")]
_I_TO_ALL += asynchronous_codes(OperationClass.ONE_TO_N)
_I_TO_ROOT = [code_of(f"MPI_I{name}") for name in ("reduce", "gather", "gatherv")]
_I_TO_ROOT += asynchronous_codes(OperationClass.N_TO_ONE)
_I_SCAN = [code_of("MPI_Iscan"), code_of("MPI_Iexscan")]

N_TO_N_CODES = codes_mask([OperationClass.N_TO_N, OperationClass.I_COLLECTIVE])
N_TO_N_CODES[_I_TO_ALL + _I_TO_ROOT + _I_SCAN] = False
TO_ALL_CODES = codes_mask([OperationClass.ONE_TO_N])
TO_ALL_CODES[_I_TO_ALL] = True
TO_ROOT_CODES = codes_mask([OperationClass.N_TO_ONE])
TO_ROOT_CODES[_I_TO_ROOT] = True
SCAN_CODES = codes_mask([OperationClass.SCAN])
SCAN_CODES[_I_SCAN] = True
NONBLOCKING_CODES = codes_mask([OperationClass.I_COLLECTIVE])
IGNORED_CODES = codes_mask([OperationClass.COMMUNICATOR])


@dataclass(frozen=True)
class Instances:
    """Collective operations, one row per instance that every member recorded.

    `members` are rows of the pool, instance after instance and ordered by rank; instance k has
    `members[starts[k]:starts[k + 1]]`. `need` is aligned with `members`.
    """

    comm: npt.NDArray[np.int64]
    seq: npt.NDArray[np.int64]
    op: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]  # (instances + 1,)
    members: npt.NDArray[np.int64]
    need: Times
    last: npt.NDArray[np.int64]  # row of the pool that arrived last
    cause: npt.NDArray[np.int64]  # aligned with members: row of the pool that set need
    synchronizing: Bools  # nobody leaves before everybody has come

    def __len__(self) -> int:
        return len(self.comm)

    @property
    def instance_of_member(self) -> npt.NDArray[np.int64]:
        """Which instance each member belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


@dataclass(frozen=True)
class Matched:
    """Complete instances, calls without their partners, and calls that still waited at the end."""

    instances: Instances
    unmatched_rows: npt.NDArray[np.int64]
    waiting_rows: npt.NDArray[np.int64]
    """Calls in which a rank was still waiting for a member when it ended."""


def match_collectives(trace: Trace, pool: Pool, clocks_agree: Bools | None = None) -> Matched:
    """Groups the collective calls of all ranks by communicator and sequence number.

    Args:
        trace: the trace that the pool was made from.
        pool: its operations.
        clocks_agree: by communicator, whether the times of its members can be compared; None: all.
    """
    rows = np.flatnonzero(
        IS_COLLECTIVE[pool.op] & ~IGNORED_CODES[pool.op] & (pool.comm >= 0) & (pool.seq >= 0)
    )
    stray = np.flatnonzero(
        IS_COLLECTIVE[pool.op] & ~IGNORED_CODES[pool.op] & ((pool.comm < 0) | (pool.seq < 0))
    )
    key = (pool.comm[rows].astype(np.int64) << 40) | np.minimum(pool.seq[rows], (1 << 40) - 1)
    rows = rows[np.argsort(key, kind="stable")]
    comm, seq = pool.comm[rows], pool.seq[rows]
    first = np.ones(len(rows), np.bool_)
    first[1:] = (comm[1:] != comm[:-1]) | (seq[1:] != seq[:-1])
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    complete = _complete(trace, pool, rows, starts, counts)
    if clocks_agree is not None and len(starts):
        complete &= clocks_agree[comm[starts]]
    kept = np.repeat(complete, counts)
    left = rows[~kept]
    opened = (pool.flags[left] & RowFlag.OPEN) != 0
    waiting = opened & N_TO_N_CODES[pool.op[left]] & ~NONBLOCKING_CODES[pool.op[left]]
    instances = _instances(trace, pool, rows[kept], counts[complete])
    return Matched(instances, np.concatenate([left[~waiting], stray]), left[waiting])


def _complete(
    trace: Trace,
    pool: Pool,
    rows: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> Bools:
    if not len(rows):
        return np.zeros(0, np.bool_)
    sizes = np.array([c.size for c in trace.communicators], np.int64)
    complete: Bools = counts == sizes[pool.comm[rows[starts]]]
    op = BLOCKING_FORM[pool.op[rows]]
    complete &= np.maximum.reduceat(op, starts) == np.minimum.reduceat(op, starts)
    rank = pool.rank[rows]
    repeated = np.zeros(len(rows), np.int64)
    repeated[1:] = rank[1:] <= rank[:-1]
    repeated[starts] = 0
    complete &= np.add.reduceat(repeated, starts) == 0
    return complete


def _instances(
    trace: Trace, pool: Pool, members: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> Instances:
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    begin = starts[:-1]
    if not len(begin):
        none = np.empty(0, np.int64)
        return Instances(none, none, none, starts, none, none, none, none, none.astype(np.bool_))
    group = np.repeat(np.arange(len(counts)), counts)
    op = pool.op[members[begin]].astype(np.int64)
    enter = pool.enter[members]
    silent = silent_members(pool, members, begin, group, op)
    counted = np.where(silent, np.iinfo(np.int64).min, pool.enter[members])
    latest = np.maximum.reduceat(counted, begin)
    last = _first_row_where(counted == latest[group], members, group, len(counts))
    own = rooted_need(pool, members, begin, group, op, latest)
    is_rooted = TO_ALL_CODES[op] | TO_ROOT_CODES[op]
    synchronizing = N_TO_N_CODES[op].copy()
    blocking = ~NONBLOCKING_CODES[op]
    tested = np.flatnonzero(is_rooted & blocking)
    synchronizing[tested] = _synchronizing(pool, members, group, own, latest, op, tested)
    wide = N_TO_N_CODES[op] | synchronizing
    need = np.where(wide[group], latest[group], own)
    scans = np.flatnonzero(SCAN_CODES[op][group])
    before = members[scans]
    if len(scans):
        before = _last_before(trace, pool, members[scans], group[scans])
        need[scans] = pool.enter[before]
    need = np.maximum(need, enter)
    root_row = _root_rows(pool, members, group, len(counts))
    cause = np.where(need == latest[group], last[group], members)
    from_root = TO_ALL_CODES[op][group] & ~wide[group]
    cause = np.where(from_root & (root_row[group] >= 0), root_row[group], cause)
    cause[scans] = before
    cause = np.where(need > enter, cause, members)
    return Instances(
        comm=pool.comm[members[begin]].astype(np.int64),
        seq=pool.seq[members[begin]],
        op=op,
        starts=starts,
        members=members,
        need=need,
        last=last,
        cause=cause,
        synchronizing=synchronizing,
    )


def silent_members(
    pool: Pool,
    members: npt.NDArray[np.int64],
    begin: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    op: npt.NDArray[np.int64],
) -> Bools:
    """Who contributes no byte where others do, so that nobody has to wait for it.

    Args:
        pool: the operations.
        members: rows of it, instance after instance.
        begin: where each instance begins in `members`.
        group: the instance of each member.
        op: operation of each instance.
    """
    if not len(begin):
        return np.zeros(0, np.bool_)
    sent = pool.sent[members]
    some = np.maximum.reduceat(sent, begin) > 0
    result: Bools = (some & N_TO_N_CODES[op])[group] & (sent == 0)
    return result


def _first_row_where(
    mark: Bools, members: npt.NDArray[np.int64], group: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.int64]:
    result = np.full(count, -1, np.int64)
    places = np.flatnonzero(mark)[::-1]
    result[group[places]] = members[places]
    return result


def _root_rows(
    pool: Pool, members: npt.NDArray[np.int64], group: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.int64]:
    is_root = pool.peer[members] == pool.rank[members]
    return _first_row_where(is_root, members, group, count)


def rooted_need(
    pool: Pool,
    members: npt.NDArray[np.int64],
    begin: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    op: npt.NDArray[np.int64],
    latest: Times,
) -> Times:
    """Need of rooted operations if they do not synchronize; own arrival for all others."""
    enter = pool.enter[members]
    is_root = pool.peer[members] == pool.rank[members]
    root_enter = np.maximum.reduceat(np.where(is_root, enter, np.iinfo(np.int64).min), begin)
    need = np.where(TO_ALL_CODES[op][group], np.maximum(enter, root_enter[group]), enter)
    return np.where(TO_ROOT_CODES[op][group] & is_root, latest[group], need)


def _synchronizing(
    pool: Pool,
    members: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    own_need: Times,
    latest: Times,
    op: npt.NDArray[np.int64],
    tested: npt.NDArray[np.int64],
) -> Bools:
    """Whether the tested instances belong to a kind in which nobody leaves before the last arrives.

    A kind is (operation, communicator, size class). Only instances in which somebody would have
    been free to leave clearly earlier can tell; where none can, both readings give the same waits.
    """
    if not len(tested):
        return np.zeros(0, np.bool_)
    count = int(group[-1]) + 1
    free = own_need < latest[group] - TELLING_LAG_NS
    stayed = pool.exit[members] >= latest[group]
    telling = np.zeros(count, np.bool_)
    telling[group[free]] = True
    synchronized = np.ones(count, np.bool_)
    synchronized[group[free & ~stayed]] = False
    begin = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    size = np.maximum.reduceat(np.maximum(pool.sent[members], pool.received[members]), begin)
    size_class = np.ceil(np.log2(size[tested] + 1)).astype(np.int64)
    kind = dense(op[tested], pool.comm[members[begin[tested]]], size_class)
    told = np.bincount(kind, telling[tested])
    agreed = np.bincount(kind, telling[tested] & synchronized[tested])
    result: Bools = (agreed >= SYNCHRONIZING_SHARE * told)[kind]
    return result


def _last_before(
    trace: Trace,
    pool: Pool,
    members: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """The row that each member of a scan needs: the last to come up to its own rank."""
    numbers = np.array([rank.number for rank in trace.ranks], np.int64)
    place = np.zeros(len(members), np.int64)
    for comm in np.unique(pool.comm[members]).tolist():
        here = pool.comm[members] == comm
        table = np.zeros(trace.world_size, np.int64)
        table[list(trace.communicators[comm].members)] = np.arange(trace.communicators[comm].size)
        place[here] = table[numbers[pool.rank[members[here]]]]
    order = np.lexsort((place, group))
    by_time = order[np.argsort(pool.enter[members[order]], kind="stable")]
    turn = np.empty(len(members), np.int64)
    turn[by_time] = np.arange(len(members))
    ladder = group[order] * len(members) + turn[order]
    latest = np.maximum.accumulate(ladder) - group[order] * len(members)
    result = np.empty(len(members), np.int64)
    result[order] = members[by_time[latest]]
    return result
