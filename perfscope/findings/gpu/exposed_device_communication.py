"""Communication kernels that no computation hides."""

from collections.abc import Sequence

from perfscope.attribution.soundness import why_spoiled
from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, passed
from perfscope.findings.facts.device_facts import (
    device_gain,
    has_accelerators,
    is_of_torch,
    need_devices,
    variable,
)
from perfscope.findings.facts.exposed_kernels import (
    BY_EXCHANGE,
    GRADIENTS,
    Exchange,
    Exposed,
    exposed_kernels,
    trains,
)
from perfscope.findings.facts.facts import Facts
from perfscope.judging import MAIN, NEGLIGIBLE
from perfscope.metrics.devices.device_collectives import DeviceCommunication
from perfscope.metrics.devices.devices import DevicesResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.damage import Need
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
    rank = next(one for one in results.trace.ranks if one.number == worst.rank)
    kernels = exposed_kernels(rank, worst, found.window_ns, results.trace.names)
    return Finding(
        status=worth.status,
        title=f"Devices communicate {format_share(share)} of the time watched without computing",
        summary=(
            f"{worth.about('the device')} of rank {worst.rank} ran nothing but communication "
            f"kernels for {format_seconds(max(exposed))}{_most(kernels)}{_split(waiting)}."
            f"{worth.bound}"
        ),
        gain=worth.gain,
        confidence=Confidence.HIGH if waiting is not None else Confidence.MEDIUM,
        ranks=tuple(sorted({device.rank for device in found.devices})),
        evidence=_evidence(found, share, waiting, kernels),
        actions=_actions(results, found.communication, waiting, kernels),
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


def _most(kernels: Sequence[Exposed]) -> str:
    """Which call or kernel it mostly was, where there are several."""
    if not kernels:
        return ""
    first = kernels[0]
    if len(kernels) == 1:
        return f", all of it {first.name}"
    return f", longest {first.name} ({format_seconds(first.seconds)})"


def _evidence(
    found: DevicesResult, share: float, waiting: float | None, kernels: Sequence[Exposed]
) -> tuple[Evidence, ...]:
    whole = sum(device.use.communication_ns for device in found.devices)
    exposed = sum(device.use.exposed_communication_ns for device in found.devices)
    rows = [
        Evidence("Exposed on the worst device", share, "ratio", "near 0"),
        Evidence("Hidden by computation", (whole - exposed) / whole, "ratio", "near 1"),
    ]
    if waiting is not None:
        rows.append(Evidence("Waiting for the last rank", waiting, "ratio"))
    rows += [
        Evidence(f"Without computing in {one.name}", one.seconds, "s")
        for one in kernels
        if one.seconds >= NEGLIGIBLE * kernels[0].seconds
    ]
    return tuple(rows)


def _actions(
    results: Results,
    communication: DeviceCommunication,
    waiting: float | None,
    kernels: Sequence[Exposed],
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
            f"Give {late} less to compute before its collectives: it began {times} last, and all "
            f"ranks together waited {waited} inside their kernels."
        )
        return tuple(actions)
    if waiting is None and why_spoiled(results.damage, Need.EVERY_RANK):
        actions.append(
            "Analyze the profiles of all ranks together, of the same steps: kernels that wait for "
            "a late rank look like kernels that transfer."
        )
    exchange = kernels[0].exchange if kernels else Exchange.OTHER
    is_gradients = exchange is Exchange.SUMS and is_of_torch(results) and trains(results.trace)
    actions += GRADIENTS if is_gradients else BY_EXCHANGE[exchange]
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
