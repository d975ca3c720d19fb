"""Copies between host and device during which the device computes nothing."""

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.device_facts import (
    device_gain,
    has_accelerators,
    is_of_torch,
    need_devices,
)
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.devices.devices import DeviceUse
from perfscope.metrics.results import Results
from perfscope.schema.devices import HostCopies
from perfscope.schema.enums import Confidence, Direction, Status
from perfscope.units import NS, format_bytes, format_seconds, format_share


def judge(run: Facts) -> Outcome:
    """Whether copies that no kernel hides take enough of the devices' time to act on."""
    results = run.results
    found = run.devices
    exposed = [device.exposed.known_s for device in found.devices]
    worth = device_gain(results, found, exposed)
    unknown = [device.exposed.unknown_s for device in found.devices]
    if (
        worth.status is Status.PASS
        and device_gain(results, found, unknown).status is not Status.PASS
    ):
        text = (
            "The trace does not tell from where to where its copies went. Record some steps with "
        )
        text += "--torch-profiler 20:30, whose traces do."
        return not_measured(text)
    worst = found.devices[exposed.index(max(exposed))]
    share = max(exposed) / (worst.use.window_ns * NS) if worst.use.window_ns else 0.0
    if worth.status is Status.PASS:
        return passed(
            f"At most {format_share(share)} of a device's time is copying that no kernel hides.",
            Confidence.MEDIUM,
        )
    return Finding(
        status=worth.status,
        title=f"Devices wait {format_share(share)} of the time watched for copies from and to "
        "the host",
        summary=(
            f"{worth.about('the device')} of rank {worst.rank} copied for "
            f"{format_seconds(max(exposed))} while it ran no kernel, mostly from "
            f"{_words(_known(worst)[0])}.{worth.bound}"
        ),
        gain=worth.gain,
        confidence=Confidence.HIGH,
        ranks=tuple(sorted({d.rank for d, s in zip(found.devices, exposed, strict=True) if s})),
        evidence=_evidence(results, worst),
        actions=_actions(worst, is_torch=is_of_torch(results)),
        overlaps=("gpu_utilization",),
    )


def _known(device: DeviceUse) -> list[HostCopies]:
    return [copy for copy in device.copies if copy.direction is not Direction.UNKNOWN]


def _words(copy: HostCopies) -> str:
    memory = {True: " (pageable memory)", False: " (pinned memory)", None: ""}[copy.pageable]
    if copy.direction is Direction.TO_DEVICE:
        return f"host{memory} to device"
    return f"device to host{memory}"


def _evidence(results: Results, device: DeviceUse) -> tuple[Evidence, ...]:
    rows = []
    for copy in _known(device)[:4]:
        words = _words(copy)
        rows.append(Evidence(f"Copies from {words}, exposed", copy.exposed_s, "s", "near 0"))
        rows.append(Evidence(f"Copies from {words}", f"{copy.count:,}, {format_bytes(copy.bytes)}"))
    rank = next(rank for rank in results.trace.ranks if rank.number == device.rank)
    loaders = rank.framework("torch").get("loaders")
    first = loaders[0] if isinstance(loaders, list) and loaders else None
    if isinstance(first, dict) and first.get("pin_memory") is not None:
        rows.append(Evidence("DataLoader: pin_memory", str(first["pin_memory"]), "", "True"))
    return tuple(rows)


def _actions(device: DeviceUse, *, is_torch: bool) -> tuple[str, ...]:
    """What to do, beginning with the direction that costs most."""
    actions = []
    for copy in _known(device):
        if copy.exposed_s <= 0:
            continue
        if copy.direction is Direction.TO_DEVICE and copy.pageable is not False:
            actions.append(
                "Copy batches from pinned memory without waiting: DataLoader(pin_memory=True) and "
                "batch.to(device, non_blocking=True)."
                if is_torch
                else "Copy batches from pinned memory without waiting."
            )
        elif copy.direction is Direction.TO_DEVICE:
            actions.append(
                "Copy the next batch on a stream of its own while this one is computed (a "
                "prefetcher: torch.cuda.Stream and non_blocking=True)."
                if is_torch
                else "Copy the next batch to the device while this one is computed."
            )
        elif copy.direction is Direction.TO_HOST:
            actions.append(
                "Leave results on the device inside a step: read losses (.item(), .cpu()) every 50 "
                "steps, or copy them with non_blocking=True."
                if is_torch
                else "Leave results on the device inside a step: read losses every 50 steps."
            )
    return tuple(dict.fromkeys(actions))


DIAGNOSIS = Diagnosis(
    "device_copies",
    "Devices wait for copies from and to the host",
    "Copies between host and device that no kernel hides, by direction and kind of host memory.",
    judge,
    passed="Copies from and to the host cost little",
    applies=has_accelerators,
    intact=RANK_BY_RANK,
    needs=(need_devices,),
    evidence="seconds and bytes by direction",
    gain_from="upper bound; none for a profiler window",
    rank=100,
    references=(
        (
            "PyTorch, pin_memory and non_blocking: "
            "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
        ),
    ),
)
