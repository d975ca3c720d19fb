"""What the accelerators of a job did: busy, idle and why, overlap, and their efficiencies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_spoiled
from perfscope.engine import engine
from perfscope.judging import NEGLIGIBLE
from perfscope.matching.intervals import Cumulative, union
from perfscope.metrics.devices.device_collectives import DeviceCommunication, device_communication
from perfscope.metrics.devices.device_copies import copies
from perfscope.metrics.devices.device_gaps import (
    KERNEL_WAIT_NS,
    idle_by_account,
    idle_by_cause,
    launch_delays,
)
from perfscope.metrics.devices.matrix_kernels import MatrixTime, matrix_time
from perfscope.metrics.devices.occupancy import COMMUNICATION, COMPUTE, Occupancy, occupancy
from perfscope.parallel import each
from perfscope.schema.common import Metric
from perfscope.schema.devices import DeviceFactors, HostCopies, Kernel, KernelKind, Stream
from perfscope.schema.enums import Account, IdleCause
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.devices import DeviceActivity, DeviceKind
from perfscope.trace.model import Rank, Table
from perfscope.units import NS_PER_S

KINDS: tuple[KernelKind, ...] = ("compute", "communication", "memcpy", "memset")
"""By DeviceKind."""

MOST_KERNELS = 100
ENOUGH_STEPS = 3
BSC: Final = "bsc"
TALP: Final = "talp"


@dataclass(frozen=True)
class DeviceUse:
    """One device of one rank over the focus of analysis."""

    rank: int
    device: int
    name: str
    use: Occupancy
    streams: tuple[Stream, ...]
    idle_s: Mapping[Account, float]
    """Idle time by what the host was doing; adds up to the idle time, empty with `idle_reason`."""
    causes_s: Mapping[IdleCause, float]
    """Idle time by what the next work waited for; adds up to the idle time."""
    copies: tuple[HostCopies, ...]
    capability: tuple[int, int] | None  # of CUDA
    step_numbers: tuple[int, ...]
    steps: tuple[Occupancy, ...]
    idle_reason: str | None = None
    """Why nothing tells what the host did while the device was idle; then the cause is unknown."""


@dataclass(frozen=True)
class DevicesResult:
    """Everything measured of the job's devices.

    `efficiency` has the tree in both conventions, by formula: `bsc` counts communication kernels
    as communication, `talp` as work. `is_part`: devices were watched during a window only, inside
    the focus of analysis; everything here is about `window_ns`, on the trace's clock.
    """

    devices: tuple[DeviceUse, ...]
    kernels: tuple[Kernel, ...]
    efficiency: Mapping[str, DeviceFactors]
    offload_efficiency: Metric
    communication: DeviceCommunication
    launch_delay_s: tuple[float | None, ...]  # median by rank
    unlinked_rows: int
    matrices: MatrixTime
    window_ns: tuple[int, int]
    is_part: bool
    partial_reason: str | None = None
    """Why this is not all that devices did, so that nothing tells when they were idle."""


def devices(prepared: Prepared) -> DevicesResult | None:
    """What the devices did in the focus of analysis, or in the part of it that was watched."""
    places = [
        (place, rank.devices)
        for place, rank in enumerate(prepared.trace.ranks)
        if rank.devices is not None and rank.devices.numbers
    ]
    watched = _watched(prepared.focus, [prepared.trace.ranks[place] for place, _ in places])
    if watched is None:
        return None
    whole, prepared = prepared.focus, replace(prepared, focus=watched)
    by_rank = each(
        lambda one: _devices_of(prepared, *one),
        places,
        rows=sum(len(activity.rows) for _, activity in places),
    )
    used = tuple(use for uses in by_rank for use in uses)
    focus = prepared.focus
    kernels = _kernels(prepared)
    uses = [device.use for device in used]
    factors = {name: efficiency(uses, name, focus.kind) for name in (BSC, TALP)}
    offload = _offload(prepared)
    if spoiled := why_spoiled(prepared.damage, Need.EVERY_RANK):
        offload = replace(offload, value=None, reason=spoiled)
    partial = _partial(uses)
    shifted = _shifted([activity for _, activity in places], focus)
    if spoiled := spoiled or shifted or partial:
        factors = {name: _withheld(tree, spoiled) for name, tree in factors.items()}
    return DevicesResult(
        devices=used,
        kernels=kernels,
        efficiency=factors,
        offload_efficiency=offload,
        communication=device_communication(prepared),
        launch_delay_s=tuple(launch_delays(activity) for _, activity in places),
        unlinked_rows=sum(activity.without_launch for _, activity in places),
        matrices=matrix_time((use.name, use.seconds) for use in kernels if use.kind == "compute"),
        window_ns=(focus.start_ns, focus.end_ns),
        is_part=focus is not whole,
        partial_reason=partial,
    )


def _partial(uses: Sequence[Occupancy]) -> str | None:
    """Why kernels of devices are missing; None where nothing says so.

    A program that computes nowhere has no efficiency either.
    """
    if any(use.compute_ns for use in uses) or not any(use.communication_ns for use in uses):
        return None
    return "the files hold kernels of communication alone, and not what devices computed"


def _shifted(activities: Sequence[DeviceActivity], focus: Focus) -> str | None:
    """Why the focus, which the host tells, does not hold what devices did in it; None if it does.

    Work that a shift of clocks moves across an edge of the focus is at most as long as the shift.
    """
    worst = max(activities, key=lambda activity: activity.clock_shift_ns)
    if worst.clock_shift_ns > NEGLIGIBLE * focus.length_ns:
        return worst.clock_reason
    return None


def _watched(focus: Focus, ranks: Sequence[Rank]) -> Focus | None:
    """The part of the focus in which all devices were watched, None where there is none.

    Of a part only whole steps count, and of three or more not the first: a profiler that has just
    been started makes it slow.
    """
    start, end, is_part = focus.start_ns, focus.end_ns, False
    for rank in ranks:
        activity = rank.devices
        if activity is None or activity.covers(focus.start_ns, focus.end_ns):
            continue
        assert activity.watched is not None
        first, last = activity.watched
        _, steps = _steps(rank, max(first, focus.start_ns), min(last, focus.end_ns))
        if steps:
            first, last = steps[1 if len(steps) >= ENOUGH_STEPS else 0][0], steps[-1][1]
        start, end, is_part = max(start, first), min(end, last), True
    if not is_part:
        return focus if ranks else None
    if end <= start:
        return None
    return Focus(start, end, "profiler_window", "the steps that a profiler watched")


def _devices_of(prepared: Prepared, place: int, activity: DeviceActivity) -> list[DeviceUse]:
    rank, focus = prepared.trace.ranks[place], prepared.focus
    numbers, windows = _steps(rank, focus.start_ns, focus.end_ns)
    if activity.clock_reason:
        numbers, windows = (), []
    window = (focus.start_ns, focus.end_ns)
    uses = occupancy(activity, [window, *windows])
    nothing = [_idle(*one) for one in (window, *windows)]
    known = {device.number: device for device in activity.devices}
    streams = engine.stream_idle(activity.rows.view(np.uint8), window, KERNEL_WAIT_NS)
    found = []
    for number in activity.numbers:
        whole, *by_step = uses.get(number, nothing)
        rows = activity.rows[activity.rows["device"] == number]
        idle_s, causes_s = _idle_time(prepared, place, rows, whole)
        device = known.get(number)
        found.append(
            DeviceUse(
                rank=rank.number,
                device=number,
                name=device.name if device else "",
                use=whole,
                streams=tuple(
                    Stream(stream, count, *(ns / NS_PER_S for ns in times))
                    for of, stream, count, *times in streams
                    if of == number
                ),
                idle_s=idle_s,
                causes_s=causes_s,
                idle_reason=activity.clock_reason or None,
                copies=copies(rows, prepared.trace.names, window),
                capability=device.capability if device else None,
                step_numbers=numbers,
                steps=tuple(by_step),
            )
        )
    return found


def _idle_time(
    prepared: Prepared, place: int, rows: Table, use: Occupancy
) -> tuple[Mapping[Account, float], Mapping[IdleCause, float]]:
    """What the host did, and what was waited for, while a device was idle, in seconds."""
    rank, timeline = prepared.trace.ranks[place], prepared.timelines[place]
    if rank.devices is not None and rank.devices.clock_reason:
        return {}, {IdleCause.UNKNOWN: use.idle_ns / NS_PER_S}
    window = (prepared.focus.start_ns, prepared.focus.end_ns)
    by_host = idle_by_account(timeline, union(rows["t0"], rows["t1"]), window)
    return by_host, idle_by_cause(rank, timeline, rows, window, prepared.trace.names)


def _idle(start: int, end: int) -> Occupancy:
    return Occupancy((max(end - start, 0), *[0] * 15), (0,) * len(DeviceKind))


def _steps(rank: Rank, start: int, end: int) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Steps inside the focus, as the host has them."""
    rows = rank.steps[(rank.steps["t0"] >= start) & (rank.steps["t1"] <= end)]
    windows = list(zip(rows["t0"].tolist(), rows["t1"].tolist(), strict=True))
    return tuple(rows["number"].tolist()), windows


def efficiency(uses: Sequence[Occupancy], formula: str, foa: str) -> DeviceFactors:
    """The device tree over devices that were watched for the same time.

    K is the union of useful kernels, X what else ran and was not hidden by them: PE =
    sum K/(D T) = [sum K/(D max K)] x [max K/max(K+X)] x [max(K+X)/T] (TALP 3.6,
    arXiv 2603.26576; docs/metrics.md).
    """
    useful = COMPUTE if formula == BSC else COMPUTE | COMMUNICATION
    kernels = [use.any_of(useful) for use in uses]
    active = [use.busy_ns for use in uses]
    window = max((use.window_ns for use in uses), default=0)
    count, longest = len(uses), max(kernels, default=0)

    def metric(above: float, below: float) -> Metric:
        value = above / below if longest > 0 and below > 0 else None
        reason = None if value is not None else "no device ran a kernel that counts as work"
        name = "compute_kernels" if formula == BSC else "kernels"
        return Metric(value, "ratio", reason, name, foa, formula)

    return DeviceFactors(
        parallel_efficiency=metric(sum(kernels), count * window),
        load_balance=metric(sum(kernels), count * longest),
        communication_efficiency=metric(longest, max(active, default=0)),
        orchestration_efficiency=metric(max(active, default=0), window),
    )


def _withheld(tree: DeviceFactors, reason: str) -> DeviceFactors:
    """No ratio over all devices may be told: some are missing, or their time is."""
    unknown = {
        name: replace(found, value=None, reason=reason) for name, found in vars(tree).items()
    }
    return DeviceFactors(**unknown)


def _offload(prepared: Prepared) -> Metric:
    """U / (U + time in calls of the devices' runtime), U being the host's other work."""
    focus, useful, runtime = prepared.focus, 0, 0
    users = [rank.devices for rank in prepared.trace.ranks if rank.devices is not None]
    reason = prepared.trace.not_recorded.get("communication")
    if reason is None and not any(len(activity.runtime) for activity in users):
        reason = "the files hold no call of the devices' runtime"
    if reason is not None:
        return Metric(None, "ratio", reason, formula=TALP)
    window = (focus.start_ns, focus.end_ns)
    for rank, timeline in zip(prepared.trace.ranks, prepared.timelines, strict=True):
        if rank.devices is None:
            continue
        outside = Cumulative.of(timeline.boundaries, ~IS_COMMUNICATION[timeline.accounts])
        calls = np.clip(union(rank.devices.runtime["t0"], rank.devices.runtime["t1"]), *window)
        in_calls = int(outside.between(calls[0], calls[1]).sum())
        useful += int(np.diff(outside.at(np.array(window, np.int64)))[0]) - in_calls
        runtime += in_calls
    if not useful + runtime:
        return Metric(None, "ratio", "the hosts of the devices did nothing", formula=TALP)
    return Metric(useful / (useful + runtime), "ratio", None, "host_work", focus.kind, TALP)


def _kernels(prepared: Prepared) -> tuple[Kernel, ...]:
    focus = prepared.focus
    window = (focus.start_ns, focus.end_ns)
    totals: dict[tuple[int, int], list[int]] = {}
    tables = [rank.devices.rows for rank in prepared.trace.ranks if rank.devices is not None]
    for found in each(
        lambda rows: engine.kernel_totals(rows.view(np.uint8), window),
        tables,
        rows=sum(map(len, tables)),
    ):
        for name, kind, count, ns, least, most, size, launched, delay in found:
            known = totals.setdefault((name, kind), [0, 0, least, 0, 0, 0, 0])
            known[0] += count
            known[1] += ns
            known[2], known[3] = min(known[2], least), max(known[3], most)
            known[4] += size
            known[5] += launched
            known[6] += delay
    ordered = sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))
    names = prepared.trace.names
    return tuple(
        Kernel(
            names[name] if 0 <= name < len(names) else "",
            KINDS[kind],
            *(count, ns / NS_PER_S, least / NS_PER_S, most / NS_PER_S, size),
            delay / NS_PER_S / launched if launched else None,
        )
        for (name, kind), (count, ns, least, most, size, launched, delay) in ordered
    )
