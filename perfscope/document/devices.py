"""Accelerators as an object of analysis.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.document.gpus import capability, sampled
from perfscope.metrics.devices.device_gaps import KERNEL_WAIT_NS
from perfscope.metrics.devices.devices import BSC, MOST_KERNELS
from perfscope.schema.efficiency import DEVICE_FACTORS

if TYPE_CHECKING:
    from perfscope.metrics.devices.devices import (
        DeviceEfficiency,
        DevicesResult,
        DeviceUse,
        Occupancy,
    )
    from perfscope.metrics.results import Results

Json = dict[str, Any]
NS_PER_S = 1e9
NO_DEVICES = "accelerators are not recorded; host time that waits for one counts as computation"


def devices(results: Results) -> Json:
    """What the devices did, or why that is not known."""
    found = results.devices
    if found is None:
        reason = results.trace.not_recorded.get("devices", NO_DEVICES)
        return {"value": None, "reason": reason, "sampled": sampled(results)}
    headline = found.efficiency[BSC].parallel_efficiency
    return {
        "value": headline.value,
        "reason": headline.reason,
        "formula": BSC,
        "window_s": [moment / NS_PER_S for moment in found.window_ns],
        "is_part": found.is_part,
        "sampled": sampled(results),
        "efficiency": {name: _efficiency(tree) for name, tree in found.efficiency.items()},
        "offload_efficiency": found.offload_efficiency.as_json(),
        "devices": [_device(device) for device in found.devices],
        "steps": [
            {"rank": device.rank, "device": device.device, "number": number, **_times(step)}
            for device in found.devices
            for number, step in zip(device.step_numbers, device.steps, strict=True)
        ],
        **_kernels(found),
        "communication": _communication(results, found),
        "launch_delay_s_median": list(found.launch_delay_s),
        "kernel_wait_below_s": KERNEL_WAIT_NS / NS_PER_S,
        "unlinked_rows": found.unlinked_rows,
    }


def _efficiency(tree: DeviceEfficiency) -> Json:
    names = ("parallel_efficiency", *DEVICE_FACTORS)
    return {name: getattr(tree, name).as_json() for name in names}


def _times(use: Occupancy) -> Json:
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


def _device(device: DeviceUse) -> Json:
    compute, communication, copies, fills = device.use.rows
    return {
        "rank": device.rank,
        "device": device.device,
        "name": device.name,
        **_times(device.use),
        "compute_kernels": compute,
        "communication_kernels": communication,
        "copies": copies,
        "fills": fills,
        "capability": capability(device.capability),
        "idle_s_by_host": {account.value: s for account, s in device.idle_s.items()},
        "idle_reason": device.idle_reason,
        "idle_s_by_cause": {cause.value: s for cause, s in device.causes_s.items()},
        "host_copies": [
            {
                "direction": copy.direction.value,
                "pageable": copy.pageable,
                "count": copy.count,
                "bytes": copy.bytes,
                "seconds": copy.seconds,
                "exposed_s": copy.exposed_s,
            }
            for copy in device.copies
        ],
        "streams": [
            {
                "stream": stream.stream,
                "rows": stream.rows,
                "busy_s": stream.busy_s,
                "host_wait_s": stream.host_wait_s,
                "kernel_wait_s": stream.kernel_wait_s,
                "other_s": stream.other_s,
                "edge_s": stream.edge_s,
            }
            for stream in device.streams
        ],
    }


def _kernels(found: DevicesResult) -> Json:
    return {
        "kernels": [
            {
                "name": kernel.name,
                "kind": kernel.kind.name.lower(),
                "count": kernel.count,
                "seconds": kernel.seconds,
                "least_s": kernel.least_s,
                "most_s": kernel.most_s,
                "bytes": kernel.bytes,
                "launch_delay_s": kernel.launch_delay_s,
            }
            for kernel in found.kernels[:MOST_KERNELS]
        ],
        "kernels_left_out": max(len(found.kernels) - MOST_KERNELS, 0),
        "matrices": {
            "single_precision_s": found.matrices.single_s,
            "tensor_cores_s": found.matrices.tensor_s,
        },
    }


def _communication(results: Results, found: DevicesResult) -> Json:
    communication = found.communication
    return {
        "reason": communication.reason,
        "matched": communication.matched,
        "unmatched": communication.unmatched,
        "end_spread_s": communication.end_spread_s,
        "ranks": [
            {
                "rank": rank.number,
                "seconds": communication.seconds[place],
                "wait_s": communication.wait_s[place],
                "transfer_s": communication.transfer_s[place],
                "last": communication.last[place],
                "longest_wait_s": communication.longest_wait_s[place],
            }
            for place, rank in enumerate(results.trace.ranks)
        ],
    }
