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
    rank_name,
    rows,
    text,
    total,
)
from perfscope.report.formats import bytes_, count, percent, ratio, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections._gpus import idle_causes, sampled_gpus
from perfscope.report.sections.ledger import rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Note, Table
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
    return {
        "devices": Table(
            "devices-by-rank", "What each device did", DEVICES, devices, MOST_DEVICES, "devices"
        ),
        "streams": Table(
            "streams",
            "Idle time of streams by cause",
            STREAMS,
            _parts(devices, "streams"),
            MOST_STREAMS,
            "streams",
        ),
        "kernels": Table(
            "kernels",
            "Most time by name, all ranks together",
            KERNELS,
            rows(found, "kernels"),
            MOST_KERNELS,
            "kernels",
            more=int(number(found.get("kernels_left_out")) or 0),
        ),
        "factors": Table(
            "device-efficiency",
            "Efficiency of the devices in two conventions",
            EFFICIENCY,
            _factors(found),
        ),
        "offload": figure(found, "offload_efficiency"),
        "offload_text": ratio(figure(found, "offload_efficiency").value),
        "threshold": seconds(number(found.get("kernel_wait_below_s"))),
        "exchange": _exchange(mapping(found, "communication")),
        "unlinked": count(number(found.get("unlinked_rows"))),
        "causes": Table(
            "devices-causes",
            "What idle devices waited for, all devices together",
            CAUSES,
            idle_causes(devices),
        ),
        "copies": Table(
            "devices-copies",
            "Copies between host and device",
            COPIES,
            _parts(devices, "host_copies"),
            MOST_STREAMS,
            "copies",
        ),
        "window": _window(found) if found.get("is_part") is True else "",
        "takeaway": _takeaway(devices),
    }


def _window(found: Mapping[str, Any]) -> str:
    """From when to when a profiler watched the devices, where that was not all the time."""
    moments = numbers(found, "window_s")
    return f"{seconds(moments[0])} to {seconds(moments[1])}" if len(moments) == 2 else ""


def _parts(devices: list[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """The rows of one kind of all devices, each with the rank and the device that it is of."""
    return [
        {**part, "rank": device.get("rank"), "device": device.get("device")}
        for device in devices
        for part in rows(device, key)
    ]


def _memory(pageable: object) -> str:
    """The kind of memory of the host, where the trace tells it."""
    if not isinstance(pageable, bool):
        return ""
    return ", pageable" if pageable else ", pinned"


def _factors(found: Mapping[str, Any]) -> list[tuple[str, float | None, float | None]]:
    def value(name: str, key: str) -> float | None:
        return figure(found, "efficiency", name, key).value

    return [(label, value("bsc", key), value("talp", key)) for key, label in FACTORS]


def _idle_share(row: Mapping[str, Any]) -> float | None:
    return part_of(
        number(row.get("idle_s")), total(number(row.get(key)) for key in ("busy_s", "idle_s"))
    )


def _most_of_it(row: Mapping[str, Any]) -> str:
    """What the host did during most of the idle time; "" where that is not known."""
    known = [
        (spent, _HOST.get(member(Account, name), ""))
        for name, value in mapping(row, "idle_s_by_host").items()
        if (spent := number(value)) is not None
    ]
    most, why = max(known, default=(0.0, ""))
    return f"{seconds(most)} while the host was {why}" if why else ""


def _exchange(found: Mapping[str, Any]) -> Context:
    return {
        "reason": text(found, "reason"),
        "matched": count(number(found.get("matched"))),
        "unmatched": count(number(found.get("unmatched"))),
        "ranks": Table(
            "device-communication",
            "Communication kernels, matched over ranks",
            EXCHANGE,
            rows(found, "ranks"),
            MOST_DEVICES,
            "ranks",
        ),
    }


def _takeaway(devices: list[Mapping[str, Any]]) -> str:
    """The idlest device, and what its host did meanwhile."""
    if not devices:
        return ""
    worst = max(devices, key=lambda row: number(row.get("idle_s")) or 0.0)
    which = f"Device {count(number(worst.get('device')))} of {rank_name(worst)}"
    said = f"{which} was idle for {percent(_idle_share(worst))} of the time"
    why = _most_of_it(worst)
    return f"{said}: {why}" if why else said


_RANK = Column("Rank", rank_name, kind=Kind.TEXT)
_DEVICE = Column("Device", "device", count)
EFFICIENCY = (
    Column("Factor", 0, kind=Kind.TEXT),
    Column("bsc", 1, ratio),
    Column("talp", 2, ratio),
)
DEVICES = (
    _RANK,
    Column(
        "Device",
        "device",
        count,
        Kind.TEXT,
        note=Note(lambda row: text(row, "name"), is_below=False),
    ),
    Column("Compute", "compute_s", seconds),
    Column("Communication", "communication_s", seconds),
    Column("Exposed", "exposed_communication_s", seconds),
    Column("Hidden by compute", "overlap", percent),
    Column(
        "Copies, fills",
        lambda row: total(number(row.get(key)) for key in ("memcpy_s", "memset_s")),
        seconds,
    ),
    Column("Busy", "busy_s", seconds),
    Column("Idle", "idle_s", seconds),
    Column("Share idle", _idle_share, percent),
    Column("Most of it", _most_of_it, kind=Kind.TEXT),
)
CAUSES = (
    Column("Cause", "cause", kind=Kind.TEXT),
    Column("Time", "seconds", seconds),
    Column("Of the idle time", "share", percent),
)
COPIES = (
    _RANK,
    _DEVICE,
    Column(
        "Direction, memory of the host",
        lambda row: text(row, "direction") + _memory(row.get("pageable")),
        kind=Kind.TEXT,
    ),
    Column("Copies", "count", count),
    Column("Bytes", "bytes", bytes_),
    Column("Time", "seconds", seconds),
    Column("While no kernel ran", "exposed_s", seconds),
)
STREAMS = (
    _RANK,
    _DEVICE,
    Column("Stream", "stream", count),
    Column("Rows", "rows", count),
    Column("Busy", "busy_s", seconds),
    Column("Host wait", "host_wait_s", seconds),
    Column("Kernel wait", "kernel_wait_s", seconds),
    Column("Other", "other_s", seconds),
    Column("Before and after", "edge_s", seconds),
)
EXCHANGE = (
    _RANK,
    Column("In kernels", "seconds", seconds),
    Column("Waiting", "wait_s", seconds),
    Column("Transfer", "transfer_s", seconds),
    Column("Last to begin", "last", count),
    Column("Longest wait", "longest_wait_s", seconds),
)
KERNELS = (
    Column("Name", "name", kind=Kind.CODE, longest=80),
    Column("Kind", "kind", kind=Kind.TEXT),
    Column("Count", "count", count),
    Column("Time", "seconds", seconds),
    Column("Shortest", "least_s", seconds),
    Column("Longest", "most_s", seconds),
    Column("Mean from launch to start", "launch_delay_s", seconds),
)
SECTION = Section("devices", "Files and accelerators", "devices.html", _context, is_folded=True)
