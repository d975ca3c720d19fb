"""What ends only when all its members call it, and who of them has yet to."""

from collections.abc import Callable, Iterable

import numpy as np

from perfscope.schema.enums import EndKind
from perfscope.standstill.calls import communicator_name, open_call, waited_for
from perfscope.standstill.now import Pending
from perfscope.trace.model import Rank, Trace
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask, name_of

_STARTS = codes_mask([OperationClass.INIT])
_ENDS = codes_mask([OperationClass.FINALIZE])

Callers = list[tuple[int, np.void]]
"""Ranks by number, each with the call that it is in."""


def pending_collectives(trace: Trace, now_ns: int) -> list[Pending]:
    """The collectives that ranks are in, and which members have yet to come, longest first.

    MPI's start and its end are among them: both wait for all processes of the job.
    """
    inside: dict[tuple[int, int], Callers] = {}
    starts: Callers = []
    ends: Callers = []
    for rank in trace.ranks:
        call = None if rank.ending.kind is not EndKind.UNKNOWN else waited_for(rank)
        if call is None:
            continue
        code, comm, seq = int(call["op"]), int(call["comm"]), int(call["seq"])
        if IS_COLLECTIVE[code] and comm >= 0 <= seq:
            inside.setdefault((comm, seq), []).append((rank.number, call))
        elif _STARTS[code]:
            starts.append((rank.number, call))
        elif _ENDS[code]:
            ends.append((rank.number, call))
    found = [_collective(trace, *key, callers, now_ns) for key, callers in inside.items()]
    for callers, has_called in ((starts, _has_started), (ends, _has_finalized)):
        if callers:
            found.append(_of_all(trace, callers, has_called, now_ns))
    return sorted(found, key=lambda one: -one.since_s)


def _collective(trace: Trace, comm: int, seq: int, callers: Callers, now_ns: int) -> Pending:
    ranks = {rank.number: rank for rank in trace.ranks}
    present = {number for number, _ in callers}
    by_name: dict[str, list[int]] = {}
    for number, call in callers:
        by_name.setdefault(name_of(int(call["op"])), []).append(number)
    calls = tuple((name, tuple(sorted(numbers))) for name, numbers in sorted(by_name.items()))
    return Pending(
        operation=" and ".join(name for name, _ in calls),
        communicator=communicator_name(trace.communicators, comm),
        ordinal=seq,
        inside=tuple(sorted(present)),
        missing=tuple(
            member
            for member in trace.communicators[comm].members
            if member not in present and not _has_called(ranks.get(member), comm, seq)
        ),
        since_s=_since_s(callers, now_ns),
        mismatch=calls if len(calls) > 1 else (),
    )


def _of_all(
    trace: Trace, callers: Callers, has_called: Callable[[Rank], bool], now_ns: int
) -> Pending:
    """MPI's start or its end."""
    through = {rank.number for rank in trace.ranks if has_called(rank)}
    present = {number for number, _ in callers}
    return Pending(
        operation=" and ".join(sorted({name_of(int(call["op"])) for _, call in callers})),
        communicator=communicator_name(trace.communicators, 0),
        ordinal=None,
        inside=tuple(sorted(present)),
        missing=tuple(sorted(set(_members(trace)) - through - present)),
        since_s=_since_s(callers, now_ns),
    )


def _members(trace: Trace) -> Iterable[int]:
    """The ranks that have to come, those that are not recorded included."""
    return trace.communicators[0].members if trace.communicators else range(trace.world_size)


def _since_s(callers: Callers, now_ns: int) -> float:
    return max(0.0, (now_ns - min(int(call["t0"]) for _, call in callers)) / 1e9)


def _has_started(rank: Rank) -> bool:
    return rank.init_exit_ns is not None


def _has_finalized(rank: Rank) -> bool:
    """Whether a rank has come to MPI's end; one that was killed before has not."""
    call = open_call(rank)
    return bool(_ENDS[rank.operations["op"]].any()) and call is None


def _has_called(rank: Rank | None, comm: int, seq: int) -> bool:
    """Whether a rank has come to a collective, or to a later one of that communicator.

    Who only gives to a root is through with it while others still wait.
    """
    if rank is None:
        return False
    tables = (rank.operations, rank.background)
    return any(bool(np.any((rows["comm"] == comm) & (rows["seq"] >= seq))) for rows in tables)
