"""Time: ledger, efficiencies, phases, steps and communication as objects of analysis.json."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perfscope.document.collective_cost import collective_cost_json
from perfscope.schema.efficiency import METRICS
from perfscope.schema.enums import Account

if TYPE_CHECKING:
    from perfscope.metrics.communication.operations import LateArrival
    from perfscope.metrics.communication.wait_states import WaitState
    from perfscope.metrics.efficiency.factors import Efficiency
    from perfscope.metrics.efficiency.phases import PhaseResult
    from perfscope.metrics.efficiency.value import Metric
    from perfscope.metrics.results import Results
    from perfscope.replay.replay import Replay
    from perfscope.trace.model import Frame

Json = dict[str, Any]
NS = 1e-9
UNLABELED_TARGET = 0.05
MOST_CAUSES = 64


def ledger(results: Results) -> list[Json]:
    """Every account in order, with its seconds summed over ranks, share and nanoseconds by rank."""
    table = results.ledger
    total_ns = int(table.life_ns.sum())
    rows = []
    for account, by_rank in zip(Account, table.ns, strict=True):
        rows.append(
            {
                "id": account.value,
                "label": account.label,
                "seconds": int(by_rank.sum()) * NS,
                "share": int(by_rank.sum()) / total_ns if total_ns else 0.0,
                "ns_by_rank": [int(ns) for ns in by_rank],
                "meaning": account.meaning,
            }
        )
    return rows


def ledger_functions(results: Results) -> list[Json]:
    """Computation by function, most seconds first."""
    table = results.ledger
    total_s = int(table.life_ns.sum()) * NS
    return [
        {
            "function": share.function,
            "file": share.file,
            "line": share.line,
            "seconds": share.seconds,
            "share": share.seconds / total_s if total_s else 0.0,
            "account": share.account.value,
            "seconds_by_rank": [share.seconds_by_rank.get(rank, 0.0) for rank in table.ranks],
        }
        for share in table.functions
    ]


def unlabeled(results: Results) -> Json:
    """Time that no phase and no function accounts for."""
    return {
        "share": results.ledger.unlabeled_share,
        "seconds": int(results.ledger.unlabeled_ns.sum()) * NS,
        "target": UNLABELED_TARGET,
    }


def run_metrics(results: Results, replay: Replay) -> Json:
    """The efficiency tree of the run; serialization and transfer from the replay where possible."""
    tree = with_ideal_network(results.efficiency, replay.ideal_runtime_s)
    return {
        **_efficiencies(tree),
        "outside_communication_s_by_rank": list(tree.outside_s),
        "useful_s_by_rank": list(tree.useful_s),
        "productive_split": dict(tree.productive_split),
    }


def with_ideal_network(tree: Efficiency, ideal_runtime_s: float | None) -> Efficiency:
    """The tree with serialization max W / T_id and transfer T_id / T, if T_id is known."""
    if tree.is_hybrid or not ideal_runtime_s or tree.window_s <= 0:
        return tree
    if tree.serialization_efficiency.value is not None:
        return tree
    return replace(
        tree,
        serialization_efficiency=_known(
            tree.serialization_efficiency, max(tree.outside_s) / ideal_runtime_s
        ),
        transfer_efficiency=_known(tree.transfer_efficiency, ideal_runtime_s / tree.window_s),
    )


def _known(metric: Metric, value: float) -> Metric:
    return replace(metric, value=value, reason=None)


def _efficiencies(tree: Efficiency) -> Json:
    return {name: getattr(tree, name).as_json() for name in METRICS}


def phases(results: Results) -> list[Json]:
    """The phases of the focus of analysis."""
    return [_phase(phase) for phase in results.phases]


def _phase(phase: PhaseResult) -> Json:
    return {
        "id": phase.id,
        "label": phase.label,
        "kind": phase.kind.name.lower(),
        "source": phase.source,
        "count": phase.count,
        "ranks": list(phase.entering_ranks),
        "seconds_by_rank": list(phase.seconds_by_rank),
        "communication_s_by_rank": list(phase.communication_s_by_rank),
        "where": [frame_json(frame) for frame in phase.where],
        "metrics": _efficiencies(phase.efficiency) if phase.efficiency else None,
        "windows_s": [list(window) for window in phase.windows_s],
    }


def steps(results: Results) -> Json:
    """Step times and what the framework reported per step."""
    found = results.steps
    return {
        "source": found.source,
        "count": found.count,
        "numbers": list(found.numbers),
        "max_seconds": list(found.max_seconds),
        "min_seconds": list(found.min_seconds),
        "series": {
            name: [list(point) for point in series] for name, series in found.metric_series.items()
        },
    }


def collectives(results: Results) -> Json:
    """Communication by operation and by rank, and who arrived late."""
    found = results.communication
    return {
        "operations": [
            {
                "name": operation.name,
                "calls": operation.calls,
                "seconds": operation.seconds,
                "seconds_by_rank": list(operation.seconds_by_rank),
                "bytes_sent": operation.bytes_sent,
                "bytes_received": operation.bytes_received,
                "wait_s": operation.wait_s,
                "transfer_s": operation.transfer_s,
                "detailed_calls": operation.detailed_calls,
            }
            for operation in found.operations
        ],
        "clocks_reason": found.clocks.reason or None,
        "wait_s_by_rank": list(found.wait_s_by_rank),
        "transfer_s_by_rank": list(found.transfer_s_by_rank),
        "other_s_by_rank": list(found.other_s_by_rank),
        "wait_states": [_wait_state(state) for state in found.wait_states],
        "late_arrivals": [_late_arrival(arrival) for arrival in found.late_arrivals],
        "matched_calls": found.matched_calls,
        "unmatched": dict(sorted(found.unmatched.items())),
        "gradient_exchange": _gradient_exchange(results),
        "cost": collective_cost_json(results.collective_cost),
    }


def _gradient_exchange(results: Results) -> Json | None:
    found = results.gradient_exchange
    if found is None:
        return None
    return {
        "exchanges": found.exchanges,
        "exposed_s": found.exposed_s.as_json(),
        "exposed_s_by_rank": list(found.exposed_s_by_rank),
        "wait_s_by_rank": list(found.wait_s_by_rank),
        "transfer_s_by_rank": list(found.transfer_s_by_rank),
    }


def _wait_state(state: WaitState) -> Json:
    return {
        "kind": state.kind.value,
        "seconds": state.seconds,
        "by_rank": [
            {"rank": rank, "seconds": seconds} for rank, seconds in state.by_rank[:MOST_CAUSES]
        ],
        "left_out_s": sum(seconds for _, seconds in state.by_rank[MOST_CAUSES:]),
    }


def _late_arrival(arrival: LateArrival) -> Json:
    frame = arrival.frame
    return {
        "rank": arrival.rank,
        "phase": arrival.phase,
        "function": frame.function if frame else None,
        "file": frame.file if frame else None,
        "line": frame.line if frame else None,
        "caller": frame_json(arrival.caller) if arrival.caller else None,
        "waiting_s": arrival.waiting_s,
        "stall_s": arrival.stall_s,
        "instances": arrival.instances,
        "window_s": [arrival.first_s, arrival.last_s],
    }


def frame_json(frame: Frame) -> Json:
    """A place in the source."""
    return {"file": frame.file, "line": frame.line, "function": frame.function}
