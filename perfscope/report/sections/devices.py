"""Files and accelerators: what was read and written, and what the devices did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import (
    Document,
    figure,
    mapping,
    maybe_numbers,
    number,
    numbers,
    part_of,
    rows,
    text,
    total,
)
from perfscope.report.formats import bytes_, count, percent, ratio, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections._gpus import idle_causes, sampled_gpus
from perfscope.report.sections.ledger import rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.schema.efficiency import DEVICE_FACTORS
from perfscope.schema.enums import Account, member

MOST_DEVICES = 64
MOST_STREAMS = 64
MOST_KERNELS = 30
FACTORS = (
    ("parallel_efficiency", "Device parallel efficiency"),
    *DEVICE_FACTORS.items(),
)
_HOST: dict[Account | None, str] = {
    Account.TRAINING: "in training work",
    Account.INPUT_WAIT: "waiting for input",
    Account.EVALUATION: "in evaluation",
    Account.CHECKPOINT: "at a checkpoint",
    Account.COMMUNICATION_WAIT: "waiting for other ranks",
    Account.COMMUNICATION_TRANSFER: "communicating",
    Account.COMMUNICATION_OTHER: "communicating",
    Account.IO: "reading or writing files",
    Account.DEVICE_WAIT: "waiting for the device",
    Account.USER_PHASES: "in phases of its own",
    Account.COMPUTATION: "outside any phase",
    Account.UNTRACED: "in time not recorded",
}


def _context(document: Document) -> Context:
    read = maybe_numbers(document, "io", "read_bytes_by_rank")
    written = maybe_numbers(document, "io", "written_bytes_by_rank")
    ranks = rank_numbers(document, max(len(read), len(written))) if read or written else []
    found = mapping(document, "devices")
    return {
        "io_reason": text(mapping(document, "io"), "reason"),
        "table": rank_table(
            "io-by-rank",
            "Bytes read from and written to files and devices",
            ranks,
            [ByRank("Read", read, bytes_), ByRank("Written", written, bytes_)],
        ),
        "reason": text(found, "reason") or "nothing was recorded of accelerators",
        **sampled_gpus(mapping(found, "sampled")),
        **_devices(found),
    }


def _devices(found: Mapping[str, Any]) -> Context:
    devices = rows(found, "devices")
    streams = [_stream(device, stream) for device in devices for stream in rows(device, "streams")]
    kernels = rows(found, "kernels")
    left_out = number(found.get("kernels_left_out")) or 0
    return {
        "devices": [_device(row) for row in devices[:MOST_DEVICES]],
        "devices_left_out": max(len(devices) - MOST_DEVICES, 0),
        "streams": streams[:MOST_STREAMS],
        "streams_left_out": max(len(streams) - MOST_STREAMS, 0),
        "kernels": [_kernel(row) for row in kernels[:MOST_KERNELS]],
        "kernels_left_out": max(len(kernels) - MOST_KERNELS, 0) + int(left_out),
        "factors": _factors(found) if devices else [],
        "offload": figure(found, "offload_efficiency"),
        "offload_text": ratio(figure(found, "offload_efficiency").value),
        "threshold": seconds(number(found.get("kernel_wait_below_s"))),
        "exchange": _exchange(mapping(found, "communication")),
        "unlinked": count(number(found.get("unlinked_rows"))),
        "causes": [
            {**cause, "seconds": seconds(cause["seconds"])} for cause in idle_causes(devices)
        ],
        "copies": _copies(devices)[:MOST_STREAMS],
        "window": _window(found) if found.get("is_part") is True else "",
        "takeaway": _takeaway(devices),
    }


def _window(found: Mapping[str, Any]) -> str:
    """From when to when a profiler watched the devices, where that was not all the time."""
    moments = numbers(found, "window_s")
    return f"{seconds(moments[0])} to {seconds(moments[1])}" if len(moments) == 2 else ""


def _copies(devices: list[Mapping[str, Any]]) -> list[Context]:
    return [
        {
            "rank": count(number(device.get("rank"))),
            "device": count(number(device.get("device"))),
            "what": text(copy, "direction") + _memory(copy.get("pageable")),
            "count": count(number(copy.get("count"))),
            "bytes": bytes_(number(copy.get("bytes"))),
            "seconds": seconds(number(copy.get("seconds"))),
            "exposed": seconds(number(copy.get("exposed_s"))),
        }
        for device in devices
        for copy in rows(device, "host_copies")
    ]


def _memory(pageable: object) -> str:
    """The kind of memory of the host, where the trace tells it."""
    if not isinstance(pageable, bool):
        return ""
    return ", pageable" if pageable else ", pinned"


def _factors(found: Mapping[str, Any]) -> list[Context]:
    return [
        {
            "label": label,
            **{
                name: ratio(figure(found, "efficiency", name, key).value)
                for name in ("bsc", "talp")
            },
        }
        for key, label in FACTORS
    ]


def _device(row: Mapping[str, Any]) -> Context:
    window = total(number(row.get(key)) for key in ("busy_s", "idle_s"))
    share = part_of(number(row.get("idle_s")), window)
    memory = total(number(row.get(key)) for key in ("memcpy_s", "memset_s"))
    why, most = _cause(row)
    return {
        "rank": count(number(row.get("rank"))),
        "device": count(number(row.get("device"))),
        "name": text(row, "name"),
        "compute": seconds(number(row.get("compute_s"))),
        "communication": seconds(number(row.get("communication_s"))),
        "exposed": seconds(number(row.get("exposed_communication_s"))),
        "overlap": percent(number(row.get("overlap"))),
        "memory": seconds(memory),
        "busy": seconds(number(row.get("busy_s"))),
        "idle": seconds(number(row.get("idle_s"))),
        "idle_share": percent(share),
        "why": f"{seconds(most)} while the host was {why}" if why else "",
    }


def _cause(row: Mapping[str, Any]) -> tuple[str, float]:
    """What the host did during most of the idle time."""
    parts = mapping(row, "idle_s_by_host")
    known = [
        (spent, _HOST.get(member(Account, name), ""))
        for name, value in parts.items()
        if (spent := number(value)) is not None
    ]
    most, why = max(known, default=(0.0, ""))
    return why, most


def _stream(device: Mapping[str, Any], row: Mapping[str, Any]) -> Context:
    return {
        "rank": count(number(device.get("rank"))),
        "device": count(number(device.get("device"))),
        "stream": count(number(row.get("stream"))),
        "rows": count(number(row.get("rows"))),
        **{
            key: seconds(number(row.get(f"{key}_s")))
            for key in ("busy", "host_wait", "kernel_wait", "other", "edge")
        },
    }


def _kernel(row: Mapping[str, Any]) -> Context:
    delay = number(row.get("launch_delay_s"))
    return {
        "name": text(row, "name"),
        "kind": text(row, "kind"),
        "count": count(number(row.get("count"))),
        "seconds": seconds(number(row.get("seconds"))),
        "least": seconds(number(row.get("least_s"))),
        "most": seconds(number(row.get("most_s"))),
        "delay": seconds(delay) if delay is not None else "unknown",
    }


def _exchange(found: Mapping[str, Any]) -> Context:
    return {
        "reason": text(found, "reason"),
        "matched": count(number(found.get("matched"))),
        "unmatched": count(number(found.get("unmatched"))),
        "ranks": [
            {
                "rank": count(number(row.get("rank"))),
                "seconds": seconds(number(row.get("seconds"))),
                "wait": seconds(number(row.get("wait_s"))),
                "transfer": seconds(number(row.get("transfer_s"))),
                "last": count(number(row.get("last"))),
                "longest": seconds(number(row.get("longest_wait_s"))),
            }
            for row in rows(found, "ranks")[:MOST_DEVICES]
        ],
    }


def _takeaway(devices: list[Mapping[str, Any]]) -> str:
    """The idlest device, and what its host did meanwhile."""
    if not devices:
        return ""
    worst = max(devices, key=lambda row: number(row.get("idle_s")) or 0.0)
    view = _device(worst)
    which = f"Device {view['device']} of rank {view['rank']}"
    said = f"{which} was idle for {view['idle_share']} of the time"
    return f"{said}: {view['why']}" if view["why"] else said


SECTION = Section("devices", "Files and accelerators", "devices.html", _context)
