"""Whether the clocks of the hosts are close enough to tell waiting from transfer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfscope.matching.collectives import NONBLOCKING_CODES, Instances
from perfscope.matching.messages import Messages, Rows
from perfscope.matching.pool import Bools, Pool
from perfscope.trace.model import Format, Trace
from perfscope.trace.operations import MAX_OPERATIONS, OperationClass, code_of
from perfscope.units import format_count, format_seconds, format_share

MAX_VIOLATIONS = 0.01
"""Share of operations that may be over before what they needed had begun."""

LARGEST_ERROR_SHARE = 0.5
"""The clocks may be wrong by this share of the mean length of an operation between hosts."""

# Collectives that nobody leaves before all have come, whatever the counts.
_MEETING_CODES = np.zeros(MAX_OPERATIONS, np.bool_)
_MEETING_CODES[[code_of(f"MPI_{name}") for name in ("Barrier", "Allreduce", "Allgather")]] = True


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
    reason: str = ""

    @property
    def whole_world(self) -> bool:
        """Whether times of any two ranks can be compared."""
        return not self.reason


def check_clocks(
    trace: Trace, pool: Pool, instances: Instances, messages: Messages, requests: tuple[Rows, Rows]
) -> ClockCheck:
    """Checks cause and effect across clocks, and whether the error leaves anything to tell.

    Args:
        trace: the trace that the pool was made from.
        pool: its operations.
        instances: its collectives.
        messages: its messages.
        requests: of each that completed, what created it and what it completed in.
    """
    domains = {rank.number: rank.clock_domain for rank in trace.ranks}
    everywhere = np.ones(len(trace.communicators), np.bool_)
    if len(set(domains.values())) <= 1:
        return _of_one_host(trace, pool, instances, messages, requests)
    alone = np.array(
        [len({domains.get(n, 0) for n in c.members}) <= 1 for c in trace.communicators], np.bool_
    )
    home = np.array([rank.clock_domain for rank in trace.ranks], np.int64)
    lengths, late = _meetings(pool, instances, ~alone)
    spent, early = _receives(pool, messages, requests, home)
    lengths, late = np.concatenate([lengths, spent]), np.concatenate([late, early])
    violations, error = int(np.count_nonzero(late)), _error_ns(trace)
    is_told = _is_told(trace)
    reason = ""
    if not is_told or _is_anything_between(pool, home, ~alone):
        reason = _reason(lengths, violations, error, is_told=is_told)
    return ClockCheck(
        comparable=alone if reason else everywhere,
        operations=len(lengths),
        violations=violations,
        error_ns=error,
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
    together = np.array([len(c.members) > 1 for c in trace.communicators], np.bool_)
    lengths, late = _meetings(pool, instances, together)
    spent, early = _receives(pool, messages, requests, np.arange(len(trace.ranks)))
    lengths, late = np.concatenate([lengths, spent]), np.concatenate([late, early])
    violations = int(np.count_nonzero(late))
    if violations <= MAX_VIOLATIONS * len(lengths):
        return ClockCheck(everywhere)
    reason = _contradiction(violations, len(lengths), "ranks of one host")
    return ClockCheck(~together, len(lengths), violations, reason=reason)


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
    lengths, late = _meetings(pool, instances, np.array(alone, np.bool_))
    home = np.array([rank.clock_domain for rank in trace.ranks], np.int64)
    received = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV) & (messages.send_of >= 0)
    rows = np.flatnonzero(received)
    sends = messages.send_of[rows]
    together = home[pool.rank[rows]] == home[pool.rank[sends]]
    rows, sends = rows[together], sends[together]
    early = pool.exit[rows] < pool.enter[sends]
    return len(lengths) + len(rows), int(np.count_nonzero(late)) + int(np.count_nonzero(early))


def _error_ns(trace: Trace) -> int:
    """How far the clocks of two ranks may be apart."""
    by_domain = {rank.clock_domain: max(rank.clock_error_ns, 0) for rank in trace.ranks}
    return sum(sorted(by_domain.values())[-2:])


def _is_told(trace: Trace) -> bool:
    """Whether the error of every clock is known."""
    return all(rank.clock_error_ns >= 0 for rank in trace.ranks)


def _meetings(pool: Pool, instances: Instances, crossing: Bools) -> tuple[Rows, Bools]:
    """Length of each call of a collective between hosts, and whether it ended too early."""
    if not len(instances):
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    members, group = instances.members, instances.instance_of_member
    begin = instances.starts[:-1]
    latest = np.maximum.reduceat(pool.enter[members], begin)
    contributed = np.minimum.reduceat(pool.sent[members], begin) > 0
    strict = _MEETING_CODES[instances.op] & (contributed | (instances.op == _BARRIER))
    wanted = crossing[instances.comm] & ~NONBLOCKING_CODES[instances.op]
    chosen = wanted[group]
    rows = members[chosen]
    late = (pool.exit[rows] < latest[group[chosen]]) & strict[group[chosen]]
    return pool.exit[rows] - pool.enter[rows], late


_BARRIER = code_of("MPI_Barrier")


def _receives(
    pool: Pool, messages: Messages, requests: tuple[Rows, Rows], home: Rows
) -> tuple[Rows, Bools]:
    """Length of each call that ended with a message from another host, and whether too early."""
    blocking = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV) & (messages.send_of >= 0)
    started, finished = requests
    known = (started >= 0) & (finished >= 0)
    started, finished = started[known], finished[known]
    arrived = pool.is_of(OperationClass.IRECV)[started] & (messages.send_of[started] >= 0)
    received = np.flatnonzero(blocking)
    rows = np.concatenate([received, finished[arrived]])
    sends = messages.send_of[np.concatenate([received, started[arrived]])]
    across = home[pool.rank[rows]] != home[pool.rank[sends]]
    rows, sends = rows[across], sends[across]
    return pool.exit[rows] - pool.enter[rows], pool.exit[rows] < pool.enter[sends]


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
