"""Accelerators that have nothing to do, and what their next work waits for."""

from collections.abc import Sequence

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.device_facts import (
    device_gain,
    has_accelerators,
    is_of_torch,
    need_devices,
    unpriced,
)
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.idle_causes import EDGES, WORDS
from perfscope.judging import MAIN
from perfscope.metrics.devices.devices import BSC, DeviceUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, IdleCause, Status
from perfscope.units import NS, capitalized, format_seconds, format_share

IDLE_DEVICES_SHARE = 0.1  # of the time: below it nobody would look for a reason
MOST_CAUSES = 6


def judge(run: Facts) -> Outcome:
    """Whether devices are idle long enough to act on, and what they wait for."""
    results = run.results
    found = run.devices
    devices = found.devices
    withheld = found.efficiency[BSC].parallel_efficiency.reason
    if withheld and withheld in {device.idle_reason for device in devices}:
        return not_measured(f"{capitalized(withheld)}.")
    window_s = sum(device.use.window_ns for device in devices) * NS
    causes = ranked_causes(devices)
    edge_s = sum(seconds for cause, seconds in causes if cause in EDGES)
    edges = edge_s / window_s if window_s else 0.0
    idle_s = sum(device.use.idle_ns for device in devices) * NS - edge_s
    share = idle_s / window_s if window_s else 0.0
    if share < IDLE_DEVICES_SHARE:
        return _busy(share, edges)
    cause, cause_s = next(one for one in causes if one[0] not in EDGES)
    worth = device_gain(results, found, [device.causes_s.get(cause, 0.0) for device in devices])
    if cause is IdleCause.UNKNOWN:
        worth = unpriced(worth)
    words, mainly = WORDS[cause], "mostly " if cause_s > MAIN * idle_s else "partly "
    return Finding(
        status=worth.status,
        title=f"Devices are idle {_how_long(devices, share, edges)}, {mainly}{words.what}",
        summary=(
            f"{worth.during}{format_share(cause_s / idle_s)} of the idle time passes "
            f"{words.what}{_second(causes, cause, idle_s)}.{worth.bound}{_untold(devices)}"
        ),
        gain=worth.gain,
        confidence=_confidence(cause, cause_s / idle_s),
        ranks=tuple(sorted({device.rank for device in devices})),
        evidence=_evidence(devices, causes, share),
        actions=words.advice(is_torch=is_of_torch(results), is_named=_is_named(results)),
        overlaps=(*words.overlaps, "gpu_utilization"),
    )


def _how_long(devices: Sequence[DeviceUse], share: float, edges: float) -> str:
    """The share of the time watched, with that of the device that is idle most if it is another."""
    shares = [
        (device.use.idle_ns * NS - sum(device.causes_s.get(cause, 0.0) for cause in EDGES))
        / (device.use.window_ns * NS)
        for device in devices
        if device.use.window_ns
    ]
    most = max(shares, default=share)
    told = f" (one {format_share(most)})" if most - share >= IDLE_DEVICES_SHARE else ""
    when = " between their first and last work" if edges >= IDLE_DEVICES_SHARE else ""
    return f"{format_share(share)}{told} of the time watched{when}"


def _is_named(results: Results) -> bool:
    """Whether anything tells which functions the hosts were in."""
    trace = results.trace
    return trace.has_stacks or any(len(rank.phases) for rank in trace.ranks)


def ranked_causes(devices: Sequence[DeviceUse]) -> list[tuple[IdleCause, float]]:
    """Seconds of all devices together by cause, most first."""
    totals = dict.fromkeys(IdleCause, 0.0)
    for device in devices:
        for cause, seconds in device.causes_s.items():
            totals[cause] += seconds
    known = [(cause, seconds) for cause, seconds in totals.items() if seconds > 0]
    return sorted(known, key=lambda pair: -pair[1])


def _busy(share: float, edges: float) -> Outcome:
    """That devices work, apart from what is before and after all their work."""
    text = f"They were idle for {format_share(share)} of the time watched"
    if edges < IDLE_DEVICES_SHARE:
        return passed(f"{text}.", Confidence.MEDIUM)
    return Finding(
        Status.INFO,
        title=f"Devices have no work yet, or no more, {format_share(edges)} of the time watched",
        summary=(
            f"{text} between their first and their last work, and for {format_share(edges)} "
            "before and after it, which may be meant."
        ),
        confidence=Confidence.MEDIUM,
        actions=WORDS[IdleCause.BEFORE_FIRST].actions,
        overlaps=WORDS[IdleCause.BEFORE_FIRST].overlaps,
    )


def _untold(devices: Sequence[DeviceUse]) -> str:
    """Why nothing can be told of some devices, as a sentence."""
    reason = next((device.idle_reason for device in devices if device.idle_reason), None)
    return f" {capitalized(reason)}." if reason else ""


def _confidence(cause: IdleCause, part: float) -> Confidence:
    """A device on which nothing runs waits for what the trace need not hold."""
    if cause is IdleCause.UNKNOWN:
        return Confidence.LOW
    is_seen = cause is not IdleCause.DEVICE
    return Confidence.HIGH if part > MAIN and is_seen else Confidence.MEDIUM


def _second(causes: Sequence[tuple[IdleCause, float]], first: IdleCause, idle_s: float) -> str:
    """The second cause, where it is as large as a tenth of the idle time."""
    others = [one for one in causes if one[0] is not first and one[0] not in EDGES]
    if not others or others[0][1] < idle_s / 10:
        return ""
    cause, seconds = others[0]
    return f", and {format_share(seconds / idle_s)} {WORDS[cause].what}"


def _evidence(
    devices: Sequence[DeviceUse], causes: Sequence[tuple[IdleCause, float]], share: float
) -> tuple[Evidence, ...]:
    compute = sum(device.use.compute_ns for device in devices)
    window = sum(device.use.window_ns for device in devices)
    exposed = sum(device.use.exposed_communication_ns for device in devices)
    kernels = sum(device.use.rows[0] for device in devices)
    rows = [
        Evidence("Idle", share, "ratio", f"below {IDLE_DEVICES_SHARE:g}"),
        Evidence("Computing", compute / window, "ratio"),
        Evidence("Communicating without computing", exposed / window, "ratio"),
    ]
    rows += [
        Evidence(f"Idle {WORDS[cause].what}", seconds, "s")
        for cause, seconds in causes[:MOST_CAUSES]
    ]
    if kernels:
        mean = format_seconds(compute * NS / kernels)
        rows.append(Evidence("Kernels and their mean length", f"{kernels:,} of {mean}"))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    "idle_devices",
    "Devices have nothing to do",
    (
        "Time in which an accelerator runs nothing, by what its next work waits for "
        "([gpu.md](gpu.md))."
    ),
    judge,
    passed="The devices are busy",
    applies=has_accelerators,
    intact=RANK_BY_RANK,
    needs=(need_devices,),
    evidence="idle seconds by cause",
    gain_from="upper bound; none for a profiler window",
    counts_from=f"{100 * IDLE_DEVICES_SHARE:g} % idle",
    rank=80,
    references=(
        "HolisticTraceAnalysis, idle time breakdown: https://hta.readthedocs.io",
        (
            "PyTorch, performance tuning: "
            "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
        ),
    ),
)
