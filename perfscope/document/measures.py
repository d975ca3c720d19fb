"""Time: ledger, efficiencies, phases, steps and communication as objects of analysis.json."""

from dataclasses import replace

from perfscope.findings.core.finding import place_of
from perfscope.metrics.communication import collective_cost as measured
from perfscope.metrics.communication import late_arrivals
from perfscope.metrics.efficiency.factors import Efficiency
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.replay import Replay
from perfscope.schema.common import CostLine, Efficiencies, Metric
from perfscope.schema.communication import CollectiveCost, CollectiveFit, Collectives, LateArrival
from perfscope.schema.efficiency import METRICS
from perfscope.schema.enums import Account
from perfscope.schema.time import LedgerAccount, Metrics, Phase, Steps, Unlabeled
from perfscope.units import NS

ASSUMPTIONS = (
    (
        "Latency is that of the smallest sizes, divided by the rounds of recursive doubling: "
        "ceil(log2 ranks)."
    ),
    "The time for the reduction itself is part of the time per byte.",
    "Additional ranks and all links between them are assumed as fast as those of this run.",
)


def collective_cost(found: measured.CollectiveCost | None) -> CollectiveCost | None:
    """Bandwidths, fits and predictions; None where nothing was computed."""
    if found is None:
        return None
    return CollectiveCost(
        classes=found.classes,
        classes_left_out=found.classes_left_out,
        fits=tuple(_fit(fit) for fit in found.fits),
        reason=found.reason,
        allreduce=found.predictions,
        allreduce_measured_s=found.measured_s,
        fusion=found.fusion,
        assumptions=ASSUMPTIONS if found.predictions else (),
    )


def _fit(fit: measured.Fit) -> CollectiveFit:
    return CollectiveFit(
        name=fit.name,
        ranks=fit.ranks,
        calls=fit.calls,
        least_bytes=fit.least_bytes,
        most_bytes=fit.most_bytes,
        **vars(fit.line),
        pieces=tuple(CostLine(**vars(line)) for line in fit.curve.lines),
        pieces_meet_at_bytes=tuple(x / fit.factor for x in fit.curve.bounds),
    )


UNLABELED_TARGET = 0.05


def ledger(results: Results) -> tuple[LedgerAccount, ...]:
    """Every account in order, with its seconds summed over ranks, share and nanoseconds by rank."""
    table = results.ledger
    total_ns = int(table.life_ns.sum())
    return tuple(
        LedgerAccount(
            id=account.value,
            label=account.label,
            seconds=int(by_rank.sum()) * NS,
            share=int(by_rank.sum()) / total_ns if total_ns else 0.0,
            ns_by_rank=tuple(by_rank.tolist()),
            meaning=account.meaning,
        )
        for account, by_rank in zip(Account, table.ns, strict=True)
    )


def unlabeled(results: Results) -> Unlabeled:
    """Time that no phase and no function accounts for."""
    return Unlabeled(
        share=results.ledger.unlabeled_share,
        seconds=int(results.ledger.unlabeled_ns.sum()) * NS,
        target=UNLABELED_TARGET,
    )


def run_metrics(results: Results, replay: Replay) -> Metrics:
    """The efficiency tree of the run; serialization and transfer from the replay where possible."""
    tree = with_ideal_network(results.efficiency, replay.ideal_runtime_s)
    return Metrics(
        **vars(_efficiencies(tree)),
        outside_communication_s_by_rank=tree.outside_s,
        useful_s_by_rank=tree.useful_s,
        productive_split=dict(tree.productive_split),
    )


def with_ideal_network(tree: Efficiency, ideal_runtime_s: float | None) -> Efficiency:
    """The tree with serialization max W / T_id and transfer T_id / T, if T_id is known.

    They are the factors of communication efficiency, and unknown where that is.
    """
    if tree.is_hybrid or not ideal_runtime_s or tree.window_s <= 0:
        return tree
    is_known = tree.serialization_efficiency.value is not None
    if is_known or tree.communication_efficiency.value is None:
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


def _efficiencies(tree: Efficiency) -> Efficiencies:
    return Efficiencies(**{name: getattr(tree, name) for name in METRICS})


def phases(results: Results) -> tuple[Phase, ...]:
    """The phases of the focus of analysis."""
    return tuple(_phase(phase) for phase in results.phases)


def _phase(phase: PhaseResult) -> Phase:
    return Phase(
        id=phase.id,
        label=phase.label,
        kind=phase.kind.name.lower(),
        source=phase.source,
        count=phase.count,
        ranks=phase.entering_ranks,
        seconds_by_rank=phase.seconds_by_rank,
        communication_s_by_rank=phase.communication_s_by_rank,
        where=tuple(map(place_of, phase.where)),
        metrics=_efficiencies(phase.efficiency) if phase.efficiency else None,
        windows_s=phase.windows_s,
    )


def steps(results: Results) -> Steps:
    """Step times and what the framework reported per step."""
    found = results.steps
    return Steps(
        source=found.source,
        count=found.count,
        numbers=found.numbers,
        max_seconds=found.max_seconds,
        min_seconds=found.min_seconds,
        series={name: tuple(series) for name, series in found.metric_series.items()},
        spent_s=found.spent_s,
    )


def collectives(results: Results) -> Collectives:
    """Communication by operation and by rank, and who arrived late."""
    found = results.communication
    return Collectives(
        operations=found.operations,
        clocks_reason=found.clocks.reason or None,
        wait_s_by_rank=found.wait_s_by_rank,
        transfer_s_by_rank=found.transfer_s_by_rank,
        other_s_by_rank=found.other_s_by_rank,
        wait_states=found.wait_states,
        late_arrivals=tuple(_late_arrival(arrival) for arrival in found.late_arrivals),
        matched_calls=found.matched_calls,
        unmatched=dict(sorted(found.unmatched.items())),
        gradient_exchange=results.gradient_exchange,
        cost=collective_cost(results.collective_cost),
    )


def _late_arrival(arrival: late_arrivals.LateArrival) -> LateArrival:
    frame = arrival.frame
    return LateArrival(
        rank=arrival.rank,
        phase=arrival.phase,
        function=frame.function if frame else None,
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        caller=place_of(arrival.caller) if arrival.caller else None,
        waiting_s=arrival.waiting_s,
        stall_s=arrival.stall_s,
        instances=arrival.instances,
        window_s=(arrival.first_s, arrival.last_s),
    )
