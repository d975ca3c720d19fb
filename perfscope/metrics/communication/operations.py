"""Communication: what each operation cost, who arrived last, and what the late rank was doing."""

from dataclasses import field

import numpy as np

from perfscope.attribution.exposed import unmatched_calls
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.matching.clock_check import ClockCheck
from perfscope.metrics.communication.late_arrivals import LateArrival, late_arrivals
from perfscope.metrics.communication.wait_states import wait_states
from perfscope.schema.communication import Operation, WaitState
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import tells_bytes
from perfscope.trace.model import RowFlag
from perfscope.trace.operations import name_of

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
    wait = np.where(waits.known, waits.need - pool.enter, 0)
    transfer = np.where(waits.known, pool.exit - waits.need, 0)
    stands_for = np.where((pool.flags & RowFlag.COALESCED) > 0, pool.request, 1)
    codes = sorted({code for rank in trace.ranks for code in rank.totals})
    results = []
    for code in codes:
        totals = [rank.totals.get(code, (0, 0, 0, 0)) for rank in trace.ranks]
        rows = pool.op == code
        split = bool(np.any(rows & waits.known))
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
                wait_s=float(wait[rows].sum()) / 1e9 if split else None,
                transfer_s=float(transfer[rows].sum()) / 1e9 if split else None,
                detailed_calls=min(int(stands_for[rows].sum()), calls),
            )
        )
    return tuple(sorted(results, key=lambda result: (-result.seconds, result.name)))
