"""Communication: what each operation cost, who arrived last, and what the late rank was doing."""

from dataclasses import field

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.exposed import unmatched_calls
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.engine import engine
from perfscope.matching.clock_check import ClockCheck
from perfscope.matching.codes import CODES, SCAN_CODES
from perfscope.matching.pool import Rows
from perfscope.matching.waits import Waits
from perfscope.metrics.communication.alike_messages import AlikeMessages, costliest_messages
from perfscope.metrics.communication.late_arrivals import LateArrival, late_arrivals
from perfscope.schema.communication import Operation, WaitedFor, WaitState
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS, Account, WaitKind
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import tells_bytes
from perfscope.trace.model import Trace
from perfscope.trace.operations import (
    ALL_OPERATIONS,
    MAX_OPERATIONS,
    OperationClass,
    codes_mask,
    name_of,
)
from perfscope.units import NS

KINDS = tuple(WaitKind)
MOST_CAUSES = 64
_INDEX = {kind: place for place, kind in enumerate(KINDS)}
_BARRIERS = [op.code for op in ALL_OPERATIONS if op.name.lower().endswith("barrier")]


def _kinds_by_code() -> Rows:
    """The kind of each operation code, as far as the operation alone tells it."""
    table = np.full(len(SCAN_CODES), _INDEX[WaitKind.N_TO_N], np.int64)
    messages = {OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV}
    messages |= {OperationClass.RECV, OperationClass.IRECV, OperationClass.PROBE}
    table[codes_mask(messages)] = _INDEX[WaitKind.LATE_SENDER]
    table[codes_mask([OperationClass.TEST])] = _INDEX[WaitKind.POLLING]
    table[codes_mask([OperationClass.FINALIZE])] = _INDEX[WaitKind.FINALIZE]
    table[SCAN_CODES] = _INDEX[WaitKind.EARLY_SCAN]
    table[_BARRIERS] = _INDEX[WaitKind.BARRIER]
    return table


_BY_CODE = _kinds_by_code()

_TOLD_BY_CAUSES = {
    kind.name.lower(): _INDEX[kind]
    for kind in (WaitKind.LATE_BROADCAST, WaitKind.EARLY_REDUCE, WaitKind.LATE_RECEIVER)
}
"""Kinds of waits that only whom a call waited for tells."""


def wait_states(
    trace: Trace, waits: Waits, timelines: tuple[Timeline, ...], focus: Focus
) -> tuple[WaitState, ...]:
    """Waiting of the main locations in the focus by kind, most first; adds up to all of it."""
    spent = np.zeros(len(KINDS) * (len(trace.ranks) + 1), np.int64)
    sums = engine.WaitSums(waits, CODES, _BY_CODE, _TOLD_BY_CAUSES, len(KINDS))
    for position, (rank, timeline) in enumerate(zip(trace.ranks, timelines, strict=True)):
        boundaries, accounts, _ = timeline.columns
        window = {"begin": focus.start_ns, "end": focus.end_ns}
        account = INDEX[Account.COMMUNICATION_WAIT]
        spent += sums.of_rank(
            position, rank.main_tid, boundaries, accounts, account=account, **window
        )
    numbers = [*(rank.number for rank in trace.ranks), None]
    states = [
        _state(kind, numbers, part)
        for kind, part in zip(KINDS, np.split(spent.astype(np.float64), len(KINDS)), strict=True)
    ]
    return tuple(sorted((s for s in states if s.by_rank), key=lambda state: -state.seconds))


def _state(kind: WaitKind, numbers: list[int | None], ns: Floats) -> WaitState:
    order = np.argsort(-ns, kind="stable")
    found = [WaitedFor(numbers[i], NS * float(ns[i])) for i in order.tolist() if ns[i]]
    return WaitState(
        kind=kind,
        seconds=sum(one.seconds for one in found),
        by_rank=tuple(found[:MOST_CAUSES]),
        left_out_s=sum(one.seconds for one in found[MOST_CAUSES:]),
    )


__all__ = ["ClockCheck", "Communication", "LateArrival", "communication"]


@dataclass(frozen=True)
class Communication:
    """Everything about communication that the report shows."""

    operations: tuple[Operation, ...]
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]
    other_s_by_rank: tuple[float, ...]
    wait_states: tuple[WaitState, ...]  # most waiting first; add up to that of all ranks
    late_arrivals: tuple[LateArrival, ...]  # most waiting first
    unmatched: dict[str, int]  # operation name -> calls without their partners
    matched_calls: int
    clocks: ClockCheck = field(default_factory=ClockCheck)
    messages: AlikeMessages | None = None  # that take most transfer


def communication(prepared: Prepared) -> Communication:
    """What communication cost: totals of the whole life, wait and transfer by rank in the focus."""
    by_rank = [_main_ns(timeline, prepared) for timeline in prepared.timelines]
    wait, transfer, other = (tuple(row[place] for row in by_rank) for place in range(3))
    return Communication(
        operations=_operations(prepared),
        wait_s_by_rank=wait,
        transfer_s_by_rank=transfer,
        other_s_by_rank=other,
        wait_states=wait_states(prepared.trace, prepared.waits, prepared.timelines, prepared.focus),
        late_arrivals=late_arrivals(prepared),
        unmatched=prepared.waits.unmatched | unmatched_calls(prepared.trace),
        matched_calls=prepared.waits.matched_calls,
        clocks=prepared.waits.clocks,
        messages=costliest_messages(prepared),
    )


def _main_ns(timeline: Timeline, prepared: Prepared) -> list[float]:
    spent = timeline.spent(prepared.focus)[0]
    return [float(spent[INDEX[account]]) / 1e9 for account in COMMUNICATION_ACCOUNTS]


def _operations(prepared: Prepared) -> tuple[Operation, ...]:
    trace = prepared.trace
    found = engine.operation_sums(prepared.waits, CODES, MAX_OPERATIONS).reshape(MAX_OPERATIONS, -1)
    codes = sorted({code for rank in trace.ranks for code in rank.totals})
    results = []
    for code in codes:
        totals = [rank.totals.get(code, (0, 0, 0, 0)) for rank in trace.ranks]
        rows, split, wait_ns, transfer_ns, together, stands_for, *joined = found[code].tolist()
        detailed = rows - together + stands_for
        told = tells_bytes(code, sum(total[2] + total[3] for total in totals))
        calls = sum(total[0] for total in totals)
        spent_ns = sum(total[1] for total in totals)
        beside = _beside(spent_ns, *joined)
        results.append(
            Operation(
                name=name_of(code),
                calls=calls,
                seconds=spent_ns / 1e9,
                seconds_by_rank=tuple(total[1] / 1e9 for total in totals),
                bytes_sent=sum(total[2] for total in totals) if told else None,
                bytes_received=sum(total[3] for total in totals) if told else None,
                wait_s=(wait_ns - beside * joined[0]) / 1e9 if split else None,
                transfer_s=(transfer_ns - beside * joined[1]) / 1e9 if split else None,
                detailed_calls=min(detailed, calls),
            )
        )
    return tuple(sorted(results, key=lambda result: (-result.seconds, result.name)))


def _beside(spent_ns: int, joined_wait_ns: int, joined_transfer_ns: int, single_ns: int) -> float:
    """What part of waits and transfers of calls that are recorded as one lies beside them at least.

    Such a record goes on from the first of them to the last, with what the program does in between;
    the totals count the calls alone, of which those that have records of their own take their part.
    """
    joined_ns = joined_wait_ns + joined_transfer_ns
    beside_ns = joined_ns - max(0, spent_ns - single_ns)
    return beside_ns / joined_ns if joined_ns and beside_ns > 0 else 0.0
