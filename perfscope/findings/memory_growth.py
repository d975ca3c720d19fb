"""Memory that grows for as long as the job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.findings import thresholds, wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.memory_limits import Room, rooms
from perfscope.findings.memory_lines import lines_that_keep
from perfscope.findings.tracing import traced_often
from perfscope.trace.model import PhaseKind
from perfscope.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfscope.metrics.memory_growth import MemoryGrowth
    from perfscope.metrics.resources import NodeMemory
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay
    from perfscope.trace.model import Frame

ID = "memory_growth"
TITLE = "Memory grows for as long as the job runs"
PASSED = "Memory does not keep growing"
DESCRIPTION = (
    "Compares the medians of each rank's resident memory in the four quarters of the second half "
    "of the run: what rises in all of them is steady growth, with the slope of Theil and Sen; what "
    "rises before is warm-up."
)
REFERENCES = (
    "Sen, P. K. (1968), Estimates of the regression coefficient based on Kendall's tau, JASA 63.",
    (
        "Keras, what is the difference between predict and a call or predict_on_batch: "
        "https://keras.io/getting_started/faq/"
    ),
)


def judge(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
    """Whether memory keeps growing, on which ranks, by what, and when the node is full."""
    growths = results.memory_growth
    if not growths:
        return _not_measured(results)
    peak = {memory.rank: memory.peak_bytes for memory in results.resources.memory}
    growing = [g for g in growths if g.steady_bytes >= _least(peak.get(g.rank, 0))]
    if not growing:
        return _passed(growths)
    worst = max(growing, key=lambda growth: growth.slope_bytes_per_s)
    full_s, room = _first_full(results, growing)
    mechanism, action = _mechanism(results, worst)
    lines = lines_that_keep(results, [growth.rank for growth in growing])
    status = (
        Status.FAIL if full_s is not None and full_s < thresholds.GROWTH_LONG_S else Status.WARN
    )
    return Finding(
        id=ID,
        status=status,
        title=_title(growing, mechanism),
        summary=_summary(worst, full_s, room),
        confidence=Confidence.HIGH if len(growing) == len(growths) else Confidence.MEDIUM,
        ranks=tuple(growth.rank for growth in growing),
        where=lines.where or _where(results, worst),
        evidence=(*_evidence(results, worst, full_s), *lines.evidence),
        actions=(*lines.actions, *action, *lines.advice),
        references=REFERENCES,
        overlaps=("memory_headroom",),
    )


def _least(peak_bytes: int) -> float:
    return max(thresholds.GROWTH_LEAST_BYTES, thresholds.GROWTH_LEAST_SHARE * peak_bytes)


def _not_measured(results: Results) -> Finding:
    few = any(len(rank.process_samples) for rank in results.trace.ranks)
    reason = (
        "The run is too short to tell steady growth from warm-up: 40 samples of memory over "
        "about 20 s of work are needed."
        if few
        else results.trace.not_recorded.get("memory")
        or "No memory was sampled: record with --sample-hz 10 (the default)."
    )
    return Finding(ID, Status.NOT_MEASURED, TITLE, reason, confidence=Confidence.HIGH)


def _passed(growths: Sequence[MemoryGrowth]) -> Finding:
    warm = max(growth.warm_up_bytes for growth in growths)
    text = (
        f"The ranks grew by at most {format_bytes(max(0, warm))} in the first half of the run and "
        "not steadily in the second."
    )
    return Finding(ID, Status.PASS, PASSED, text, confidence=Confidence.HIGH)


def _first_full(
    results: Results, growing: Sequence[MemoryGrowth]
) -> tuple[float | None, Room | None]:
    """Seconds until the first node or control group is full at this pace, and which one it is."""
    found: tuple[float | None, Room | None] = (None, None)
    for room in rooms(results):
        slope = sum(g.slope_bytes_per_s for g in growing if g.rank in room.ranks)
        if slope > 0 and (found[0] is None or room.end_bytes / slope < found[0]):
            found = (room.end_bytes / slope, room)
    return found


def _mechanism(results: Results, worst: MemoryGrowth) -> tuple[str, tuple[str, ...]]:
    """What makes memory grow, as far as it was observed, and what to do about it."""
    again = traced_often(results)
    if again and again[0].times > thresholds.TRACED_FAIL:
        return again[0].what, (again[0].action,)
    predicts = worst.calls.get("predict", 0)
    if predicts >= thresholds.PREDICTS_OFTEN and "keras" in _frameworks(results, worst.rank):
        return (
            "Model.predict is called again and again",
            (
                (
                    "Use predict_on_batch(x) or model(x, training=False) for single batches in a "
                    "loop: predict builds an input pipeline and its callbacks in every call."
                ),
            ),
        )
    return (
        "",
        (
            (
                "Look for what is kept from step to step: lists of losses or tensors that hold "
                "their graphs, caches without a bound, results that are appended."
            ),
        ),
    )


def _frameworks(results: Results, number: int) -> Mapping[str, Any]:
    """What the agent noted of the frameworks of a rank."""
    ranks = (rank for rank in results.trace.ranks if rank.number == number)
    return next((rank.frameworks for rank in ranks), {})


def _title(growing: Sequence[MemoryGrowth], mechanism: str) -> str:
    ranks = wording.capitalised(wording.ranks([growth.rank for growth in growing]))
    verb = "grows" if len(growing) == 1 else "grow"
    pace = max(growth.slope_bytes_per_s for growth in growing)
    text = f"{ranks} {verb} by up to {format_bytes(pace)}/s without end"
    return f"{text}: {mechanism}" if mechanism else text


def _summary(worst: MemoryGrowth, full_s: float | None, room: Room | None) -> str:
    text = (
        f"Rank {worst.rank} grew by {format_bytes(max(0, worst.warm_up_bytes))} while it warmed up "
        f"and then by {format_bytes(worst.steady_bytes)} in {format_seconds(worst.steady_s)}, in "
        "every quarter of that time."
    )
    if full_s is not None and room is not None:
        text += f" At this pace {room.name} is used up in {format_seconds(full_s)}."
    return text


def _where(results: Results, worst: MemoryGrowth) -> tuple[Frame, ...]:
    kinds = dict.fromkeys(("predict", "predict_on_batch"), PhaseKind.PREDICT)
    wanted = {kinds.get(name, PhaseKind.TRAIN) for name in worst.calls}
    for phase in results.phases:
        if phase.kind in wanted and phase.where:
            return phase.where
    return ()


def _evidence(results: Results, worst: MemoryGrowth, full_s: float | None) -> tuple[Evidence, ...]:
    rows = [
        Evidence(f"Warm-up of rank {worst.rank}", format_bytes(max(0, worst.warm_up_bytes))),
        Evidence("Steady growth", format_bytes(worst.steady_bytes), "", "0 B"),
        Evidence("Steady growth per second", format_bytes(worst.slope_bytes_per_s)),
    ]
    rows += [
        Evidence(f"The same per {name}", format_bytes(worst.steady_bytes / count))
        for name, count in worst.calls.items()
    ]
    if worst.steps:
        each = format_bytes(worst.steady_bytes / worst.steps)
        rows.append(Evidence("The same per step", each))
    node: NodeMemory | None = next(
        (n for n in results.resources.node_memory if n.host == worst.host), None
    )
    if node and node.least_available_bytes is not None:
        left = format_bytes(node.least_available_bytes)
        rows.append(Evidence(f"Least memory available on {node.host}", left))
    if full_s is not None:
        rows.append(Evidence("Time until it is used up at this pace", full_s, "s"))
    return tuple(rows)


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
