"""Communication: what each operation cost, who arrived last, and what the late rank was doing."""

from dataclasses import field

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.exposed import unmatched_calls
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.matching.clock_check import ClockCheck
from perfscope.matching.codes import SCAN_CODES, TO_ALL_CODES, TO_ROOT_CODES
from perfscope.matching.intervals import Cumulative, Times
from perfscope.matching.pool import Rows
from perfscope.matching.waits import Waits
from perfscope.metrics.communication.late_arrivals import LateArrival, late_arrivals
from perfscope.schema.communication import Operation, WaitedFor, WaitState
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS, Account, WaitKind
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import tells_bytes
from perfscope.trace.model import RowFlag, Trace
from perfscope.trace.operations import ALL_OPERATIONS, OperationClass, codes_mask, name_of
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


def wait_states(
    trace: Trace, waits: Waits, timelines: tuple[Timeline, ...], focus: Focus
) -> tuple[WaitState, ...]:
    """Waiting of the main locations in the focus by kind, most first; adds up to all of it."""
    width = len(trace.ranks) + 1
    spent = np.zeros(len(KINDS) * width)
    for position, rank in enumerate(trace.ranks):
        rows = np.arange(*waits.of_rank(position).indices(len(waits.pool)))
        main = waits.pool.tid[rows] == rank.main_tid
        rows = rows[main & waits.known[rows] & (waits.need[rows] > waits.pool.enter[rows])]
        rows = rows[np.argsort(waits.pool.enter[rows], kind="stable")]
        ns = _waiting_ns(waits, rows, timelines[position], focus)
        cause = waits.cause[rows]
        causing = np.where(cause >= 0, waits.pool.rank[cause], len(trace.ranks))
        spent += np.bincount(_kinds(waits, rows) * width + causing, ns, minlength=len(spent))
    numbers = [*(rank.number for rank in trace.ranks), None]
    states = [
        _state(kind, numbers, part)
        for kind, part in zip(KINDS, np.split(spent, len(KINDS)), strict=True)
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


def _waiting_ns(waits: Waits, rows: Rows, timeline: Timeline, focus: Focus) -> Times:
    """How long each call waited by the ledger; of calls at once, the earlier one waits."""
    waiting = timeline.accounts == INDEX[Account.COMMUNICATION_WAIT]
    in_focus = Cumulative.of(timeline.boundaries, timeline.inside(focus) & waiting)
    enter, need = waits.pool.enter[rows], waits.need[rows]
    reach = np.maximum.accumulate(need)
    enter[1:] = np.maximum(enter[1:], reach[:-1])
    return in_focus.between(enter, np.maximum(enter, need))


def _kinds(waits: Waits, rows: Rows) -> Rows:
    """The kind of each wait, as a place in `KINDS`: by the operation, and whom it waited for."""
    pool, cause = waits.pool, waits.cause[rows]
    is_caused = cause >= 0
    completes = pool.is_of(OperationClass.WAIT, OperationClass.TEST, rows=rows)
    # a wait is of the kind of what completed in it
    op = np.where(completes & is_caused, pool.op[cause], pool.op[rows])
    kinds = _BY_CODE[op]
    root = np.where(is_caused, pool.peer[cause], -1)
    kinds[TO_ALL_CODES[op] & (root == pool.rank[cause])] = _INDEX[WaitKind.LATE_BROADCAST]
    kinds[TO_ROOT_CODES[op] & (root == pool.rank[rows])] = _INDEX[WaitKind.EARLY_REDUCE]
    kinds[waits.for_receiver[rows]] = _INDEX[WaitKind.LATE_RECEIVER]
    return kinds


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
    )


def _main_ns(timeline: Timeline, prepared: Prepared) -> list[float]:
    spent = timeline.spent(prepared.focus)[0]
    return [float(spent[INDEX[account]]) / 1e9 for account in COMMUNICATION_ACCOUNTS]


def _operations(prepared: Prepared) -> tuple[Operation, ...]:
    trace, waits = prepared.trace, prepared.waits
    pool = waits.pool
    codes = sorted({code for rank in trace.ranks for code in rank.totals})
    results = []
    for code in codes:
        totals = [rank.totals.get(code, (0, 0, 0, 0)) for rank in trace.ranks]
        rows = np.flatnonzero(pool.op == code)
        split = rows[waits.known[rows]]
        need = waits.need[split]
        together = rows[(pool.flags[rows] & RowFlag.COALESCED) > 0]
        detailed = len(rows) - len(together) + int(pool.request[together].sum())
        told = tells_bytes(code, sum(total[2] + total[3] for total in totals))
        calls = sum(total[0] for total in totals)
        results.append(
            Operation(
                name=name_of(code),
                calls=calls,
                seconds=sum(total[1] for total in totals) / 1e9,
                seconds_by_rank=tuple(total[1] / 1e9 for total in totals),
                bytes_sent=sum(total[2] for total in totals) if told else None,
                bytes_received=sum(total[3] for total in totals) if told else None,
                wait_s=float((need - pool.enter[split]).sum()) / 1e9 if len(split) else None,
                transfer_s=float((pool.exit[split] - need).sum()) / 1e9 if len(split) else None,
                detailed_calls=min(detailed, calls),
            )
        )
    return tuple(sorted(results, key=lambda result: (-result.seconds, result.name)))
