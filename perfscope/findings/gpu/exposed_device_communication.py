"""Communication kernels that no computation hides."""

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, passed
from perfscope.findings.facts.device_facts import (
    device_gain,
    has_accelerators,
    need_devices,
    variable,
)
from perfscope.findings.facts.facts import Facts
from perfscope.judging import MAIN
from perfscope.metrics.devices.device_collectives import DeviceCommunication
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import NS, format_seconds, format_share

SLOW_SETTINGS = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
"""Variables that, set to 1, keep NCCL from its fast ways."""


def judge(run: Facts) -> Outcome:
    """Whether communication that nothing hides takes enough of the devices' time to act on."""
    results = run.results
    found = run.devices
    if not any(device.use.communication_ns for device in found.devices):
        return not_applicable("No kernel communicates.")
    exposed = [device.use.exposed_communication_ns * NS for device in found.devices]
    worth = device_gain(results, found, exposed)
    worst = found.devices[exposed.index(max(exposed))]
    share = max(exposed) / (worst.use.window_ns * NS) if worst.use.window_ns else 0.0
    if worth.status is Status.PASS:
        return passed(
            f"At most {format_share(share)} of a device's time is exposed communication.",
            Confidence.MEDIUM,
        )
    waiting = _waiting(found.communication)
    return Finding(
        status=worth.status,
        title=f"Devices communicate {format_share(share)} of the time watched without computing",
        summary=(
            f"{worth.about('the device')} of rank {worst.rank} ran nothing but communication "
            f"kernels for {format_seconds(max(exposed))}{_split(waiting)}.{worth.bound}"
        ),
        gain=worth.gain,
        confidence=Confidence.HIGH if waiting is not None else Confidence.MEDIUM,
        ranks=tuple(sorted({device.rank for device in found.devices})),
        evidence=_evidence(found, share, waiting),
        actions=_actions(results, found.communication, waiting),
        overlaps=("network_bound", "load_imbalance", "straggler", "gpu_utilization"),
    )


def _waiting(communication: DeviceCommunication) -> float | None:
    """Share of the matched kernels that waits for the last rank; None where it is not known."""
    wait, transfer = sum(communication.wait_s), sum(communication.transfer_s)
    if communication.reason is not None or wait + transfer <= 0:
        return None
    return wait / (wait + transfer)


def _split(waiting: float | None) -> str:
    if waiting is None:
        return ""
    return f"; {format_share(waiting)} of these kernels' time is waiting for the last rank"


def _evidence(found: DevicesResult, share: float, waiting: float | None) -> tuple[Evidence, ...]:
    whole = sum(device.use.communication_ns for device in found.devices)
    exposed = sum(device.use.exposed_communication_ns for device in found.devices)
    rows = [
        Evidence("Exposed on the worst device", share, "ratio", "near 0"),
        Evidence("Hidden by computation", (whole - exposed) / whole, "ratio", "near 1"),
    ]
    if waiting is not None:
        rows.append(Evidence("Waiting for the last rank", waiting, "ratio"))
    return tuple(rows)


def _actions(
    results: Results, communication: DeviceCommunication, waiting: float | None
) -> tuple[str, ...]:
    actions = [
        f"Start with {wording.unset(name)}: set to 1 it keeps NCCL from a fast way between the "
        "devices."
        for name in SLOW_SETTINGS
        if variable(results, name) == "1"
    ]
    if waiting is not None and waiting >= MAIN:
        last = communication.last.index(max(communication.last))
        late = wording.ranks((results.trace.ranks[last].number,))
        times = f"{communication.last[last]:,} of {communication.matched:,} collectives"
        waited = format_seconds(sum(communication.wait_s))
        actions.append(
            f"Look at what {late} computes before its collectives: it began {times} last, and all "
            f"ranks together waited {waited} inside their kernels."
        )
        return tuple(actions)
    actions += [
        (
            "Send less: gradients in 16 bits (ddp_comm_hooks.default_hooks.bf16_compress_hook), or "
            "several micro-batches for each exchange (model.no_sync())."
        ),
        (
            "Let the exchange begin earlier: smaller first buckets "
            "(DistributedDataParallel(bucket_cap_mb=...)), and no parameters that are used last."
        ),
    ]
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    "exposed_device_communication",
    "Devices communicate without computing",
    "Time in which a device communicates and computes nothing; how much of it is waiting.",
    judge,
    passed="Computation hides the communication of devices",
    applies=has_accelerators,
    intact=RANK_BY_RANK,
    needs=(need_devices,),
    evidence="seconds on the worst device, share hidden",
    gain_from="upper bound; none for a profiler window",
    rank=90,
    references=(
        (
            "PyTorch, DistributedDataParallel: "
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
        ),
        (
            "NCCL, environment variables: "
            "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
        ),
    ),
)
