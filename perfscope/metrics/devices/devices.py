"""What the accelerators of a job did: busy, idle and why, overlap, and their efficiencies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_spoiled
from perfscope.attribution.timeline import Timeline
from perfscope.engine import engine
from perfscope.judging import NEGLIGIBLE
from perfscope.matching.intervals import Cumulative, union
from perfscope.metrics.devices.device_collectives import DeviceCommunication, device_communication
from perfscope.metrics.devices.device_copies import Exposed, copies
from perfscope.metrics.devices.device_gaps import (
    KERNEL_WAIT_NS,
    idle_by_account,
    idle_by_cause,
    launch_delay,
)
from perfscope.metrics.devices.matrix_kernels import MatrixTime, matrix_time
from perfscope.metrics.devices.occupancy import COMMUNICATION, COMPUTE, Occupancy, occupancy
from perfscope.schema.common import Metric
from perfscope.schema.devices import DeviceFactors, HostCopies, Kernel, KernelKind, Stream
from perfscope.schema.enums import Account, IdleCause
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.devices import DeviceActivity, DeviceInfo, DeviceKind
from perfscope.trace.elsewhere import ask, ask_ranks, shared
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
    exposed: Exposed
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
    activities = [activity for _, activity in places]
    asked = [_asked(prepared, place, activity) for place, activity in places]
    by_rank = ask(_devices_of, activities, asked, shared(prepared.trace.names, len(places)))
    used = tuple(use for uses in by_rank for use in uses)
    focus = prepared.focus
    kernels = _kernels(prepared)
    uses = [device.use for device in used]
    factors = {name: efficiency(uses, name, focus.kind) for name in (BSC, TALP)}
    offload = _offload(prepared)
    if spoiled := why_spoiled(prepared.damage, Need.EVERY_RANK):
        offload = replace(offload, value=None, reason=spoiled)
    partial = _partial(uses)
    shifted = _shifted(activities, focus)
    if spoiled := spoiled or shifted or partial:
        factors = {name: _withheld(tree, spoiled) for name, tree in factors.items()}
    return DevicesResult(
        devices=used,
        kernels=kernels,
        efficiency=factors,
        offload_efficiency=offload,
        communication=device_communication(prepared),
        launch_delay_s=tuple(ask(launch_delay, activities)),
        unlinked_rows=sum(activity.without_launch for activity in activities),
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


@dataclass(frozen=True)
class _Asked:
    """What is asked of the device rows of a rank, and what of its host is needed for it."""

    rank: Rank
    timeline: Timeline
    devices: Sequence[DeviceInfo]
    numbers: tuple[int, ...]
    clock_reason: str
    window: tuple[int, int]
    step_numbers: tuple[int, ...]
    steps: list[tuple[int, int]]


def _asked(prepared: Prepared, place: int, activity: DeviceActivity) -> _Asked:
    rank, focus = prepared.trace.ranks[place], prepared.focus
    numbers, windows = _steps(rank, focus.start_ns, focus.end_ns)
    if activity.clock_reason:
        numbers, windows = (), []
    return _Asked(
        rank,
        prepared.timelines[place],
        activity.devices,
        activity.numbers,
        activity.clock_reason,
        (focus.start_ns, focus.end_ns),
        numbers,
        windows,
    )


def _devices_of(table: Table, asked: _Asked, names: Sequence[str]) -> list[DeviceUse]:
    """What the devices of one rank did."""
    window, windows = asked.window, [asked.window, *asked.steps]
    uses = occupancy(table, windows)
    nothing = [_idle(*one) for one in windows]
    known = {device.number: device for device in asked.devices}
    streams = engine.stream_idle(table.view(np.uint8), window, KERNEL_WAIT_NS)
    found = []
    for number in asked.numbers:
        whole, *by_step = uses.get(number, nothing)
        rows = table[table["device"] == number]
        idle_s, causes_s = _idle_time(asked, rows, whole, names)
        device = known.get(number)
        moved, exposed = copies(rows, names, window)
        found.append(
            DeviceUse(
                rank=asked.rank.number,
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
                idle_reason=asked.clock_reason or None,
                copies=moved,
                exposed=exposed,
                capability=device.capability if device else None,
                step_numbers=asked.step_numbers,
                steps=tuple(by_step),
            )
        )
    return found


def _idle_time(
    asked: _Asked, rows: Table, use: Occupancy, names: Sequence[str]
) -> tuple[Mapping[Account, float], Mapping[IdleCause, float]]:
    """What the host did, and what was waited for, while a device was idle, in seconds."""
    if asked.clock_reason:
        return {}, {IdleCause.UNKNOWN: use.idle_ns / NS_PER_S}
    busy = union(rows["t0"], rows["t1"])
    by_host = idle_by_account(asked.timeline, busy, asked.window)
    return by_host, idle_by_cause(asked.rank, asked.timeline, rows, asked.window, names)


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


def _kernel_totals(rows: Table, window: tuple[int, int]) -> list[tuple[int, ...]]:
    """By name and kind: count, ns, least, most, bytes, launches, their delay."""
    return list(engine.kernel_totals(rows.view(np.uint8), window))


def _kernels(prepared: Prepared) -> tuple[Kernel, ...]:
    focus = prepared.focus
    window = (focus.start_ns, focus.end_ns)
    totals: dict[tuple[int, int], list[int]] = {}
    ranks = prepared.trace.ranks
    for found in ask_ranks(_kernel_totals, ranks, [window] * len(ranks)):
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
