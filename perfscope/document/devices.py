"""Accelerators as an object of analysis.json."""

from typing import Any

from perfscope.metrics.devices.device_gaps import KERNEL_WAIT_NS
from perfscope.metrics.devices.devices import BSC, MOST_KERNELS, DevicesResult, DeviceUse
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.devices.occupancy import Occupancy
from perfscope.metrics.results import Results
from perfscope.schema.common import Series
from perfscope.schema.devices import (
    Device,
    DeviceCommunication,
    DeviceCommunicationOfRank,
    DeviceEfficiencies,
    Devices,
    DeviceStep,
    Gpu,
    GpuMemoryOfRank,
    GpuSeries,
    Matrices,
    NoProfile,
    SampledGpus,
)
from perfscope.units import NS_PER_S


def sampled(results: Results) -> SampledGpus:
    """What was sampled of every GPU; `value`: mean share of time in which those in use worked."""
    found = results.gpus
    shares = [use.busy for use in found.used if use.busy is not None]
    reason = found.reason
    if not reason and not shares:
        reason = "no rank is known to use a GPU" if not found.used else "the driver does not tell"
    return SampledGpus(
        value=sum(shares) / len(shares) if shares else None,
        reason=reason or None,
        gpus=tuple(_gpu(use) for use in found.gpus),
    )


def capability(pair: tuple[int, int] | None) -> str | None:
    """A CUDA capability as people write it."""
    return None if pair is None else f"{pair[0]}.{pair[1]}"


def _gpu(use: GpuUse) -> Gpu:
    gpu = use.gpu
    return Gpu(
        host=gpu.host,
        uuid=gpu.uuid,
        index=gpu.index,
        name=gpu.name,
        board=gpu.board,
        driver=gpu.driver,
        capability=capability(gpu.capability),
        is_lost=gpu.is_lost,
        ranks=tuple(use.ranks),
        known_by=use.how_known,
        samples=use.samples,
        watched_s=use.watched_s,
        busy=use.busy,
        memory_busy=use.memory_busy,
        memory_total_bytes=gpu.memory_bytes or None,
        memory_peak_bytes=use.memory_peak_bytes,
        memory_peak_phase=use.peak_phase,
        memory_peak_bytes_by_rank=tuple(
            GpuMemoryOfRank(rank, size) for rank, size in sorted(use.memory_by_rank.items())
        ),
        sm_mhz=use.sm_mhz,
        sm_mhz_most=gpu.sm_mhz,
        power_w=use.power_w,
        power_limit_w=gpu.power_w,
        celsius_most=use.celsius,
        throttled={
            (reason.name or "other").lower(): share for reason, share in use.throttled.items()
        },
        series=GpuSeries(
            **{
                name: Series(tuple(series.seconds), tuple(series.values))
                for name, series in use.series.items()
            }
        ),
    )


NO_DEVICES = "accelerators are not recorded; host time that waits for one counts as computation"


def devices(results: Results) -> Devices | NoProfile:
    """What the devices did, or why that is not known."""
    found = results.devices
    if found is None:
        reason = results.trace.not_recorded.get("devices", NO_DEVICES)
        return NoProfile(None, reason, sampled(results))
    headline = found.efficiency[BSC].parallel_efficiency
    start, end = found.window_ns
    return Devices(
        value=headline.value,
        reason=headline.reason,
        formula=BSC,
        window_s=(start / NS_PER_S, end / NS_PER_S),
        is_part=found.is_part,
        sampled=sampled(results),
        efficiency=DeviceEfficiencies(**found.efficiency),
        offload_efficiency=found.offload_efficiency,
        devices=tuple(_device(device) for device in found.devices),
        steps=tuple(
            DeviceStep(device.rank, device.device, number, **_times(step))
            for device in found.devices
            for number, step in zip(device.step_numbers, device.steps, strict=True)
        ),
        kernels=found.kernels[:MOST_KERNELS],
        kernels_left_out=max(len(found.kernels) - MOST_KERNELS, 0),
        matrices=Matrices(found.matrices.single_s, found.matrices.tensor_s),
        communication=_communication(results, found),
        launch_delay_s_median=tuple(found.launch_delay_s),
        kernel_wait_below_s=KERNEL_WAIT_NS / NS_PER_S,
        unlinked_rows=found.unlinked_rows,
    )


def _times(use: Occupancy) -> dict[str, Any]:
    """The times that `Device` and `DeviceStep` share."""
    return {
        "busy_s": use.busy_ns / NS_PER_S,
        "idle_s": use.idle_ns / NS_PER_S,
        "compute_s": use.compute_ns / NS_PER_S,
        "communication_s": use.communication_ns / NS_PER_S,
        "memcpy_s": use.memcpy_ns / NS_PER_S,
        "memset_s": use.memset_ns / NS_PER_S,
        "exposed_communication_s": use.exposed_communication_ns / NS_PER_S,
        "exposed_memory_s": use.exposed_memory_ns / NS_PER_S,
        "overlap": use.overlap,
    }


def _device(device: DeviceUse) -> Device:
    compute, communication, copies, fills = device.use.rows
    return Device(
        rank=device.rank,
        device=device.device,
        name=device.name,
        **_times(device.use),
        compute_kernels=compute,
        communication_kernels=communication,
        copies=copies,
        fills=fills,
        capability=capability(device.capability),
        idle_s_by_host={account.value: s for account, s in device.idle_s.items()},
        idle_reason=device.idle_reason,
        idle_s_by_cause={cause.value: s for cause, s in device.causes_s.items()},
        host_copies=device.copies,
        streams=device.streams,
    )


def _communication(results: Results, found: DevicesResult) -> DeviceCommunication:
    communication = found.communication
    return DeviceCommunication(
        reason=communication.reason,
        matched=communication.matched,
        unmatched=communication.unmatched,
        end_spread_s=communication.end_spread_s,
        ranks=tuple(
            DeviceCommunicationOfRank(
                rank=rank.number,
                seconds=communication.seconds[index],
                wait_s=communication.wait_s[index],
                transfer_s=communication.transfer_s[index],
                last=communication.last[index],
                longest_wait_s=communication.longest_wait_s[index],
            )
            for index, rank in enumerate(results.trace.ranks)
        ),
    )
