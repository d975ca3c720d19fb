"""Whether the clocks of the hosts are close enough to tell waiting from transfer."""

from dataclasses import field

import numpy as np

from perfscope.arrays import Bools
from perfscope.engine import engine
from perfscope.matching.codes import NONBLOCKING_CODES, SYNCHRONOUS, TO_ROOT_CODES
from perfscope.matching.collectives import Instances, rooted_need
from perfscope.matching.messages import Messages
from perfscope.matching.pool import Pool, Rows
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import BLOCKING_FORM
from perfscope.trace.model import Format, RowFlag, Trace
from perfscope.trace.operations import MAX_OPERATIONS, OperationClass, code_of
from perfscope.units import format_count, format_seconds, format_share

MAX_VIOLATIONS = 0.01
"""Share of operations that may be over before what they needed had begun."""

FEWEST_VIOLATIONS = 3
"""Of one pair of ranks: a single one may be a message that was taken for another."""

LARGEST_ERROR_SHARE = 0.5
"""The clocks may be wrong by this share of the mean length of an operation between hosts."""

# Collectives that nobody leaves before all have come, whatever the counts.
_MEETING_CODES = np.zeros(MAX_OPERATIONS, np.bool_)
_MEETING_CODES[[code_of(f"MPI_{name}") for name in ("Barrier", "Allreduce", "Allgather")]] = True

# Rooted ones that are over when they return; a framework's call may only start one on a device.
_ROOTED_CODES = np.zeros(MAX_OPERATIONS, np.bool_)
_ROOTED_CODES[
    [
        code_of(f"MPI_{name}")
        for name in ("Bcast", "Scatter", "Scatterv", "Reduce", "Gather", "Gatherv")
    ]
] = True


@dataclass(frozen=True)
class ClockCheck:
    """What the operations between hosts say about the clocks; all zero where there is one clock.

    `reason` says why wait and transfer between hosts are not told apart, "" where they are.
    `comparable` tells by communicator whether the times of its members can be compared.
    """

    comparable: Bools = field(default_factory=lambda: np.ones(0, np.bool_))
    operations: int = 0
    violations: int = 0
    error_ns: int = 0
    apart_ns: int = 0  # how far clocks are apart, as the median of what contradicts them tells
    reason: str = ""

    @property
    def whole_world(self) -> bool:
        """Whether times of any two ranks can be compared."""
        return not self.reason


def check_clocks(
    trace: Trace, pool: Pool, instances: Instances, messages: Messages, requests: tuple[Rows, Rows]
) -> ClockCheck:
    """Checks cause and effect across clocks, and whether the error leaves anything to tell.

    Of each request that completed, `requests` has what created it and what it completed in.
    """
    checked = _of_one_host(trace, pool, instances, messages, requests)
    home = _home(trace)
    if checked.reason or len(set(home.tolist())) <= 1:
        return checked
    everywhere = np.ones(len(trace.communicators), np.bool_)
    alone = _hosts(trace) <= 1
    found = _dependent(pool, instances, messages, requests, ~alone, home)
    lengths = found.lengths
    violations, error = int(np.count_nonzero(found.late_ns > 0)), _error_ns(trace)
    is_told = _is_told(trace)
    reason = ""
    if not is_told or _is_anything_between(pool, home, ~alone):
        reason = _reason(lengths, violations, error, is_told=is_told)
    return ClockCheck(
        comparable=alone if reason else everywhere,
        operations=len(lengths),
        violations=violations,
        error_ns=error,
        apart_ns=found.apart_ns if reason else 0,
        reason=reason,
    )


def _is_anything_between(pool: Pool, home: Rows, crossing: Bools) -> bool:
    """Whether the hosts did anything together of which times on both would have to be compared.

    Where devices alone communicate, their own kernels measured the clocks, and how well these
    agree is told with them.
    """
    if not len(pool):
        return False
    on_both = (pool.comm >= 0) & crossing[np.maximum(pool.comm, 0)] if len(crossing) else False
    peers = np.maximum(pool.peer, 0)
    elsewhere = (pool.peer >= 0) & (home[peers] != home[pool.rank])
    return bool(np.any(on_both | elsewhere))


def _of_one_host(
    trace: Trace, pool: Pool, instances: Instances, messages: Messages, requests: tuple[Rows, Rows]
) -> ClockCheck:
    """Whether ranks of one host read one clock, as one takes for granted, in another tool's trace.

    Some tools count from the start of each process. Nothing is left of the check where all is well.
    """
    everywhere = np.ones(len(trace.communicators), np.bool_)
    if trace.format is Format.PERFSCOPE:
        return ClockCheck(everywhere)
    alone = np.array([len(c.members) <= 1 for c in trace.communicators], np.bool_)
    together, home = ~alone & (_hosts(trace) == 1), _home(trace)
    found = _dependent(pool, instances, messages, requests, together, home, is_within=True)
    violations, count = found.worst(len(trace.ranks))
    if not violations:
        return ClockCheck(everywhere)
    reason = _contradiction(violations, count, "ranks of one host")
    return ClockCheck(alone, count, violations, apart_ns=found.apart_ns, reason=reason)


def _home(trace: Trace) -> Rows:
    """The clock of each rank, by its position."""
    return np.array([rank.clock_domain for rank in trace.ranks], np.int64)


def _hosts(trace: Trace) -> Rows:
    """How many clocks the members of each communicator read; missing ranks read the first."""
    domains = {rank.number: rank.clock_domain for rank in trace.ranks}
    clocks = [len({domains.get(n, 0) for n in c.members}) for c in trace.communicators]
    return np.array(clocks, np.int64)


def impossible(
    trace: Trace, pool: Pool, instances: Instances, messages: Messages
) -> tuple[int, int]:
    """Calls between ranks that read one clock, and how many of them cannot be of one job.

    Those ended before what they needed had begun on another rank.
    """
    domains = {rank.number: rank.clock_domain for rank in trace.ranks}
    alone = [
        len(c.members) > 1 and len({domains.get(number) for number in c.members}) == 1
        for c in trace.communicators
    ]
    meetings, late_ns = _meetings(pool, instances, np.array(alone, np.bool_))
    home = _home(trace)
    received = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV) & (messages.send_of >= 0)
    rows = np.flatnonzero(received)
    sends = messages.send_of[rows]
    together = home[pool.rank[rows]] == home[pool.rank[sends]]
    together &= _has_ended(pool, rows)
    rows, sends = rows[together], sends[together]
    early = pool.exit[rows] < pool.enter[sends]
    wrong = np.count_nonzero(late_ns > 0) + np.count_nonzero(early)
    return len(meetings) + len(rows), int(wrong)


def _error_ns(trace: Trace) -> int:
    """How far the clocks of two ranks may be apart."""
    by_domain = {rank.clock_domain: max(rank.clock_error_ns, 0) for rank in trace.ranks}
    return sum(sorted(by_domain.values())[-2:])


def _is_told(trace: Trace) -> bool:
    """Whether the error of every clock is known."""
    return all(rank.clock_error_ns >= 0 for rank in trace.ranks)


@dataclass(frozen=True)
class _Dependent:
    """Calls that could not end before another rank had begun something."""

    lengths: Rows  # of the calls
    late_ns: Rows  # how long before it they ended all the same; 0 or less where they did not
    rank: Rows  # positions of the ranks that made them
    other: Rows  # of the rank of which they needed something; -1 for many at once

    @property
    def apart_ns(self) -> int:
        """The median of how long before it those ended that did; 0 where none did."""
        late_ns = self.late_ns[self.late_ns > 0]
        return int(np.median(late_ns)) if len(late_ns) else 0

    def worst(self, ranks: int) -> tuple[int, int]:
        """Calls that ended too early, and all, of all ranks or of those who contradict most.

        Two of many ranks do little together: what they say is not lost among the others.
        """
        late = self.late_ns > 0
        violations = int(np.count_nonzero(late))
        if violations > MAX_VIOLATIONS * len(late):
            return violations, len(late)
        low, high = np.minimum(self.rank, self.other), np.maximum(self.rank, self.other)
        _, group = np.unique((low + 1) * (ranks + 1) + high, return_inverse=True)
        count = np.bincount(group)
        wrong = np.bincount(group, weights=late).astype(np.int64)
        told = (wrong >= FEWEST_VIOLATIONS) & (wrong > MAX_VIOLATIONS * count)
        if not np.any(told):
            return 0, 0
        most = int(np.argmax(np.where(told, wrong / np.maximum(count, 1), 0)))
        return int(wrong[most]), int(count[most])


def _dependent(
    pool: Pool,
    instances: Instances,
    messages: Messages,
    requests: tuple[Rows, Rows],
    crossing: Bools,
    home: Rows,
    *,
    is_within: bool = False,
) -> _Dependent:
    """Calls that needed something of a rank with another home, or of another rank of the same."""
    met, met_early = _meetings(pool, instances, crossing)
    ended, ended_early = _later_meetings(pool, instances, requests, crossing)
    rows, other, early = _exchanges(pool, messages, requests, home, is_within=is_within)
    every = np.concatenate([met, ended, rows])
    return _Dependent(
        pool.exit[every] - pool.enter[every],
        np.concatenate([met_early, ended_early, early]).astype(np.int64),
        pool.rank[every].astype(np.int64),
        np.concatenate([np.full(len(met) + len(ended), -1), other]).astype(np.int64),
    )


def _meetings(pool: Pool, instances: Instances, crossing: Bools) -> tuple[Rows, Rows]:
    """Each call of a blocking collective between hosts, and how much too early it ended."""
    if not len(instances):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    chosen = crossing[instances.comm] & ~NONBLOCKING_CODES[instances.op]
    if np.any(_ROOTED_CODES[instances.op]):
        return _meetings_with_roots(pool, instances, chosen)
    op = BLOCKING_FORM[instances.op]
    strictness = _MEETING_CODES[op] * np.where(op == _BARRIER, _ALWAYS, _WHERE_ALL_SEND)
    return engine.ends_of_meetings(
        (pool.enter, pool.exit, pool.sent, pool.flags),
        instances.members,
        instances.starts,
        chosen.view(np.uint8),
        strictness.astype(np.uint8),
    )


_WHERE_ALL_SEND, _ALWAYS = 1, 2
"""When nobody leaves a collective before all have come, as the engine takes it."""


def _meetings_with_roots(pool: Pool, instances: Instances, wanted: Bools) -> tuple[Rows, Rows]:
    """The same of wanted instances, of which some have a root."""
    members, group = instances.members, instances.instance_of_member
    begin, op = instances.starts[:-1], instances.op
    latest = np.maximum.reduceat(pool.enter[members], begin)
    need = np.where(_is_strict(pool, instances)[group], latest[group], pool.enter[members])
    # nobody has what a root sends, nor the root what the others send, before it is sent
    giving = np.where(pool.sent[members] > 0, pool.enter[members], np.iinfo(np.int64).min)
    given = np.maximum.reduceat(giving, begin)
    rooted = rooted_need(pool, members, begin, group, op, given)
    has_got = TO_ROOT_CODES[op][group] | (pool.received[members] > 0)
    has_got &= _ROOTED_CODES[op][group]
    need = np.where(has_got, np.maximum(need, rooted), need)
    chosen = wanted[group] & _has_ended(pool, members)
    rows = members[chosen]
    return rows, need[chosen] - pool.exit[rows]


def _has_ended(pool: Pool, rows: Rows) -> Bools:
    """Which calls returned; of the others the end is the last sign of life of their process."""
    ended: Bools = (pool.flags[rows] & RowFlag.OPEN) == 0
    return ended


def _is_strict(pool: Pool, instances: Instances) -> Bools:
    """Of which instances nobody ends before all have begun."""
    op = BLOCKING_FORM[instances.op]
    least = np.minimum.reduceat(pool.sent[instances.members], instances.starts[:-1])
    strict: Bools = _MEETING_CODES[op] & ((least > 0) | (op == _BARRIER))
    return strict


def _later_meetings(
    pool: Pool, instances: Instances, requests: tuple[Rows, Rows], crossing: Bools
) -> tuple[Rows, Rows]:
    """Calls in which nonblocking collectives ended, and how much too early."""
    started, finished = requests
    if not len(instances) or not np.any(NONBLOCKING_CODES[instances.op]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    members, group = instances.members, instances.instance_of_member
    latest = np.maximum.reduceat(pool.enter[members], instances.starts[:-1])
    wanted = crossing[instances.comm] & NONBLOCKING_CODES[instances.op]
    chosen = (wanted & _is_strict(pool, instances))[group]
    need = np.full(len(pool), -1, np.int64)
    need[members[chosen]] = latest[group[chosen]]
    known = (started >= 0) & (finished >= 0)
    known[known] = need[started[known]] >= 0
    rows = finished[known]
    return rows, need[started[known]] - pool.exit[rows]


_BARRIER = code_of("MPI_Barrier")


def _exchanges(
    pool: Pool, messages: Messages, requests: tuple[Rows, Rows], home: Rows, *, is_within: bool
) -> tuple[Rows, Rows, Rows]:
    """Calls that ended with a message of another rank, or its arrival there.

    Returns:
        their rows, positions of the other ranks, and how much too early they ended.
    """
    blocking = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV) & (messages.send_of >= 0)
    started, finished = requests
    known = (started >= 0) & (finished >= 0)
    started, finished = started[known], finished[known]
    arrived = pool.is_of(OperationClass.IRECV)[started] & (messages.send_of[started] >= 0)
    received, starts_only = np.flatnonzero(blocking), pool.is_of(OperationClass.ISEND)
    # a synchronous send does not end before its message is waited for
    into = np.flatnonzero(pool.is_of(OperationClass.RECV) & (messages.send_of >= 0))
    into = into[(np.isin(pool.op, SYNCHRONOUS) & ~starts_only)[messages.send_of[into]]]
    rows = np.concatenate([received, finished[arrived], messages.send_of[into]])
    others = np.concatenate([messages.send_of[np.concatenate([received, started[arrived]])], into])
    wanted = (home[pool.rank[rows]] == home[pool.rank[others]]) == is_within
    wanted &= (pool.rank[rows] != pool.rank[others]) & _has_ended(pool, rows)
    rows, others = rows[wanted], others[wanted]
    return rows, pool.rank[others].astype(np.int64), pool.enter[others] - pool.exit[rows]


def _contradiction(violations: int, operations: int, between: str) -> str:
    return (
        f"{format_count(violations)} of {format_count(operations)} operations between {between} "
        f"({format_share(violations / operations)}) end before what they needed began: the clocks "
        "contradict each other"
    )


def _reason(lengths: Rows, violations: int, error_ns: int, *, is_told: bool) -> str:
    if not len(lengths):
        apart = f"their clocks may be {format_seconds(error_ns / 1e9)} apart"
        unknown = "nothing tells how far their clocks are still apart"
        return (
            f"no operation between the hosts could be compared, and {apart if is_told else unknown}"
        )
    if violations > MAX_VIOLATIONS * len(lengths):
        return _contradiction(violations, len(lengths), "hosts")
    mean_ns = float(lengths.mean())
    if error_ns > LARGEST_ERROR_SHARE * mean_ns:
        return (
            f"the clocks may be wrong by {format_seconds(error_ns / 1e9)}, and an operation "
            f"between hosts takes {format_seconds(mean_ns / 1e9)} on average"
        )
    return ""
