"""Time that goes into moving data between ranks, and not into waiting for them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from perfscope.findings import thresholds
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.price import NS, bound_s, gain_of, price
from perfscope.findings.threads_over_cores import waits_for_cpus
from perfscope.replay.model import Edit
from perfscope.units import format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfscope.findings.price import Price
    from perfscope.metrics.collective_cost import SizeClass
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "network_bound"
TITLE = "Moving data between ranks takes long"
PASSED = "Moving data between ranks takes little"
DESCRIPTION = (
    "Replays the run on a network that needs no time (the ideal network of the POP method): what "
    "that gives back is transfer on the critical path. Tells whether many small collectives or few "
    "large ones make it up, and whether a setting keeps the ranks from a faster transport."
)
REFERENCES = (
    "POP Centre of Excellence, transfer efficiency: https://co-design.pop-coe.eu/metrics/",
    "Horovod, tensor fusion: https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html",
)
IDEAL = Edit(factor=1.0, network=math.inf)
TWICE = Edit(factor=1.0, network=2.0)
HALVED = Edit(factor=1.0, bytes=0.5)
FUSED = Edit(factor=1.0, fuse_bytes=64 << 20)
HIDDEN = Edit(factor=1.0, overlap=1.0)
CHANGES = {
    "Gain of a network twice as fast": TWICE,
    "Gain of half the bytes": HALVED,
    "Gain if allreduces in quick succession were one": FUSED,
    "Gain if allreduces hid behind the backward pass": HIDDEN,
}
"""What people do about it; those that this run cannot tell are left out."""


TOLD = {"framework", "marker"}
"""Where steps come from that somebody told."""

CROWDED = (
    " Threads wait for CPUs in this run, and a collective takes longer while one of its ranks "
    "does: part of this is not the network's."
)

SLOW_TRANSPORTS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("FI_PROVIDER", re.compile(r"^(tcp|sockets|udp)\b"), "the fabric's provider, or none"),
    ("UCX_TLS", re.compile(r"^(?!.*(rc|dc|ud|ib|sm|shm|all))(.*,)?tcp\b"), "all, or none"),
    ("OMPI_MCA_btl", re.compile(r"^(?!\^)(?!.*(vader|sm|openib|ofi|uct)).*tcp"), "none"),
    ("I_MPI_FABRICS", re.compile(r"^(?!.*shm)"), "shm:ofi"),
    ("MPIR_CVAR_NOLOCAL", re.compile(r"^(1|yes|true)$", re.IGNORECASE), "none"),
)
"""Variables, the values that keep ranks from shared memory or the fabric, and what to set."""


def judge(results: Results, replay: Replay) -> Finding:
    """Whether transfer matters, what it is made of, and what makes it less."""
    if len(results.trace.ranks) < 2:
        text = "The run has a single rank: nothing is moved."
        return Finding(ID, Status.NOT_APPLICABLE, TITLE, text, confidence=Confidence.HIGH)
    found_s = results.communication
    if not any(found_s.wait_s_by_rank) and not any(found_s.transfer_s_by_rank):
        return _not_split(results)
    found = price(
        results,
        replay,
        [IDEAL],
        bound_s=bound_s(results, [0.0] * len(results.trace.ranks)),
        is_planned=True,
    )
    crowded = waits_for_cpus(results)
    status = _status(found.share, crowded=crowded)
    is_fault = status is not Status.PASS
    return Finding(
        id=ID,
        status=status,
        title=f"{format_share(found.share)} of the run is data being moved between ranks"
        if is_fault
        else PASSED,
        summary=f"{_summary(results, found)}{CROWDED if crowded and is_fault else ''}",
        gain_s=found.gain_s,
        gain_interval_s=found.interval_s,
        gain_share=found.share,
        gain_basis="upper_bound",  # no network needs no time
        confidence=_confidence(found, crowded=crowded),
        evidence=_evidence(results, replay),
        actions=_actions(results, replay) if is_fault else (),
        references=REFERENCES,
        edits=(IDEAL,),
    )


def _status(share: float, *, crowded: bool) -> Status:
    """One degree milder where ranks wait for CPUs: collectives wait with them."""
    if share >= thresholds.TRANSFER_FAIL_SHARE:
        return Status.WARN if crowded else Status.FAIL
    if share >= thresholds.TRANSFER_WARN_SHARE:
        return Status.INFO if crowded else Status.WARN
    return Status.PASS


def _confidence(found: Price, *, crowded: bool) -> Confidence:
    if crowded:
        return Confidence.LOW
    return Confidence.HIGH if found.is_replayed else Confidence.MEDIUM


def _not_split(results: Results) -> Finding:
    reason = results.trace.not_recorded.get("communication")
    if reason is None and not any(results.communication.other_s_by_rank):
        text = "The ranks hardly communicate in the analysed time."
        return Finding(ID, Status.PASS, PASSED, text, confidence=Confidence.HIGH)
    text = reason or "Waiting and transfer could not be told apart in this run."
    return Finding(ID, Status.NOT_MEASURED, TITLE, text, confidence=Confidence.HIGH)


def _summary(results: Results, found: Price) -> str:
    text = (
        f"On a network that needs no time the run would take {format_seconds(found.gain_s)} "
        f"({format_share(found.share)}) less: more than any real change can give back."
    )
    classes = _classes(results)
    if classes:
        main = max(classes, key=lambda c: c.seconds * c.calls)
        text += (
            f" Of the collectives, {main.name} of about {format_bytes(main.size_bytes)} takes most "
            f"time: {main.calls:,} calls, {format_seconds(main.seconds)} each."
        )
    return text


def _classes(results: Results) -> tuple[SizeClass, ...]:
    cost = results.collective_cost
    return cost.classes if cost else ()


def _small(results: Results) -> tuple[float, int, float]:
    """Share of collectives' time that small ones take, how many there are, median bytes."""
    classes = _classes(results)
    total_s = sum(c.seconds * c.calls for c in classes)
    small = [c for c in classes if c.size_bytes < thresholds.SMALL_BYTES]
    if not small or total_s <= 0:
        return 0.0, 0, 0.0
    main = max(small, key=lambda c: c.seconds * c.calls)
    spent_s = sum(c.seconds * c.calls for c in small)
    return spent_s / total_s, sum(c.calls for c in small), float(main.size_bytes)


def _evidence(results: Results, replay: Replay) -> tuple[Evidence, ...]:
    found = results.communication
    rows = [
        Evidence("Transfer, mean of the ranks", _mean(found.transfer_s_by_rank), "s"),
        Evidence("Waiting for other ranks, mean of the ranks", _mean(found.wait_s_by_rank), "s"),
    ]
    gains = {label: gain_of(replay, edit) for label, edit in CHANGES.items()}
    least_s = _least_s(results)
    rows += [
        Evidence(label, gain_s, "s")
        for label, gain_s in gains.items()
        if gain_s is not None and gain_s >= least_s
    ]
    classes = sorted(_classes(results), key=lambda c: -c.seconds * c.calls)
    rows += [
        Evidence(
            f"{c.name} of about {format_bytes(c.size_bytes)}",
            f"{c.calls:,} calls, {format_seconds(c.seconds)} each, "
            f"{format_bytes(c.bus_bytes_per_s)}/s on the bus",
        )
        for c in classes[:3]
    ]
    rows += [
        Evidence(f"{name} in this run", value, "", wanted)
        for name, value, wanted in _slow_settings(results)
    ]
    return tuple(rows)


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values) if values else 0.0


def _slow_settings(results: Results) -> list[tuple[str, str, str]]:
    """Variables of this run that keep the ranks from a faster transport, and what to set."""
    environment: Mapping[str, Any] = {}
    for rank in results.trace.ranks:
        told = rank.metadata.get("environment")
        if isinstance(told, dict):
            environment = {**told, **environment}
    return [
        (name, str(environment[name]), wanted)
        for name, slow, wanted in SLOW_TRANSPORTS
        if name in environment and slow.search(str(environment[name]))
    ]


def _actions(results: Results, replay: Replay) -> tuple[str, ...]:
    actions = [
        f"Take {name}={value} out of the environment (better: {wanted}): it keeps the ranks from "
        "shared memory or the fabric."
        for name, value, wanted in _slow_settings(results)
    ]
    share, calls, size = _small(results)
    if share >= thresholds.SMALL_SHARE and _can_be_fused(results, replay, calls):
        actions.append(
            f"Put many small collectives into one: {calls:,} calls of about {format_bytes(size)} "
            f"take {format_share(share)} of the collectives' time. One buffer for all gradients, "
            "HOROVOD_FUSION_THRESHOLD and HOROVOD_CYCLE_TIME, or bucket_cap_mb of "
            f"DistributedDataParallel{_back(results, replay, FUSED)}."
        )
    half = _back(results, replay, HALVED, TWICE)
    actions.append(f"Send half as many bytes, as gradients in 16 bits do{half}.")
    if (gain_of(replay, HIDDEN) or 0.0) >= _least_s(results):
        actions.append(
            "Exchange gradients while the backward pass still runs, as DistributedDataParallel and "
            f"Horovod do{_back(results, replay, HIDDEN)}."
        )
    if results.steps.source in TOLD:
        actions.append(
            "Exchange more rarely: larger batches, or gradients of several batches added up first; "
            f"now once in {format_seconds(results.focus.length_ns * NS / results.steps.count)}."
        )
    return tuple(actions)


def _can_be_fused(results: Results, replay: Replay, calls: int) -> bool:
    """Whether small collectives follow each other at once: one a step has none to be fused with."""
    steps = results.steps.count if results.steps.source in TOLD else 0
    several = 0 < thresholds.SMALL_PER_STEP * steps <= calls
    return several or (gain_of(replay, FUSED) or 0.0) >= _least_s(results)


def _least_s(results: Results) -> float:
    """Seconds below which a gain is not told."""
    return thresholds.WARN_SHARE * results.focus.length_ns * NS


def _back(results: Results, replay: Replay, *edits: Edit) -> str:
    """What the first of some changes gives back that this run tells, in words."""
    for edit in edits:
        gain_s = gain_of(replay, edit) or 0.0
        if gain_s >= _least_s(results):
            return f": that gives back up to {format_seconds(gain_s)}"
    return ""


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
