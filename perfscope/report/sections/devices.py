"""Files and accelerators: what was read and written, and what the devices did."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TypeVar

from perfscope.report.formats import bytes_, count, part_of, percent, ratio, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections._gpus import idle_causes, sampled_gpus
from perfscope.report.sections.ledger import rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.analysis import Analysis
from perfscope.schema.devices import Device, DeviceCommunication, Devices, HostCopies
from perfscope.schema.efficiency import DEVICE_FACTORS
from perfscope.schema.enums import Account, member

One = TypeVar("One")
MOST_DEVICES = 64
MOST_STREAMS = 64
MOST_KERNELS = 30
FACTORS = (("parallel_efficiency", "Device parallel efficiency"), *DEVICE_FACTORS.items())
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
    Account.COMPUTATION: "work in no phase",
    Account.UNTRACED: "in time not recorded",
}


def _context(result: Analysis) -> Context:
    found, files = result.devices, result.io
    read, written = files.read_bytes_by_rank, files.written_bytes_by_rank
    count_ = max(len(read), len(written))
    return {
        "io_reason": files.reason,
        "table": rank_table(
            "io-by-rank",
            "Bytes read from and written to files and devices",
            rank_numbers(result.run, count_) if count_ else [],
            [ByRank("Read", read, bytes_), ByRank("Written", written, bytes_)],
        ),
        "reason": found.reason or "nothing was recorded of accelerators",
        **sampled_gpus(found.sampled),
        **(_devices(found) if isinstance(found, Devices) else {"devices": ()}),
    }


def _devices(found: Devices) -> Context:
    return {
        **_tables(found),
        "offload": found.offload_efficiency,
        "offload_text": ratio(found.offload_efficiency.value),
        "threshold": seconds(found.kernel_wait_below_s),
        "exchange": _exchange(found.communication),
        "unlinked": count(found.unlinked_rows),
        "window": " to ".join(map(seconds, found.window_s)) if found.is_part else "",
        "takeaway": _takeaway(found.devices),
    }


def _tables(found: Devices) -> dict[str, Table]:
    devices = found.devices
    copies = _parts(devices, lambda device: device.host_copies)
    streams = _parts(devices, lambda device: device.streams)
    return {
        "devices": Table(
            "devices-by-rank", "What each device did", DEVICES, devices, MOST_DEVICES, "devices"
        ),
        "streams": Table(
            "streams", "Idle time of streams by cause", STREAMS, streams, MOST_STREAMS, "streams"
        ),
        "kernels": Table(
            "kernels",
            "Most time by name, all ranks together",
            KERNELS,
            found.kernels,
            MOST_KERNELS,
            "kernels",
            more=found.kernels_left_out,
        ),
        "factors": Table(
            "device-efficiency",
            "Device efficiency, in two conventions",
            EFFICIENCY,
            _factors(found),
        ),
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
            copies,
            MOST_STREAMS,
            "copies",
        ),
    }


def _parts(
    devices: Sequence[Device], get: Callable[[Device], Sequence[One]]
) -> list[tuple[Device, One]]:
    """The rows of one kind of all devices, each with the device that it is of."""
    return [(device, part) for device in devices for part in get(device)]


def _direction(copies: HostCopies) -> str:
    """Which way, and the kind of memory of the host where the trace tells it."""
    memory = {None: "", True: ", pageable", False: ", pinned"}[copies.pageable]
    return f"{copies.direction.value}{memory}"


def _factors(found: Devices) -> list[tuple[str, float | None, float | None]]:
    bsc, talp = found.efficiency.bsc, found.efficiency.talp
    return [(label, getattr(bsc, name).value, getattr(talp, name).value) for name, label in FACTORS]


def _idle_share(device: Device) -> float | None:
    return part_of(device.idle_s, device.busy_s + device.idle_s)


def _most_of_it(device: Device) -> str:
    """What the host did during most of the idle time; "" where that is not known."""
    known = [
        (spent, _HOST.get(member(Account, name), ""))
        for name, spent in device.idle_s_by_host.items()
    ]
    most, why = max(known, default=(0.0, ""))
    return f"{seconds(most)} while the host was {why}" if why else ""


def _exchange(found: DeviceCommunication) -> Context:
    return {
        "reason": found.reason,
        "matched": count(found.matched),
        "unmatched": count(found.unmatched),
        "ranks": Table(
            "device-communication",
            "Communication kernels, matched over ranks",
            EXCHANGE,
            found.ranks,
            MOST_DEVICES,
            "ranks",
        ),
    }


def _takeaway(devices: Sequence[Device]) -> str:
    """The idlest device, and what its host did meanwhile."""
    if not devices:
        return ""
    worst = max(devices, key=lambda device: device.idle_s)
    which = f"Device {count(worst.device)} of rank {worst.rank}"
    watched = seconds(worst.busy_s + worst.idle_s)
    said = f"{which} was idle for {percent(_idle_share(worst))} of its {watched}"
    why = _most_of_it(worst)
    return f"{said}: {why}" if why else said


def _of(name: str) -> Callable[[tuple[Device, object]], object]:
    """A field of a part of a device."""
    get = attrgetter(name)
    return lambda row: get(row[1])


_RANK = Column("Rank", lambda row: f"rank {row.rank}", kind=Kind.TEXT)
_OF_DEVICE = (
    Column("Rank", lambda row: f"rank {row[0].rank}", kind=Kind.TEXT),
    Column("Device", lambda row: row[0].device, count),
)
EFFICIENCY = (
    Column("Factor", 0, kind=Kind.TEXT),
    Column("bsc", 1, ratio),
    Column("talp", 2, ratio),
)
DEVICES = (
    _RANK,
    Column(
        "Device", "device", count, Kind.TEXT, note=Note(lambda device: device.name, is_below=False)
    ),
    Column("Compute", "compute_s", seconds),
    Column("Communication", "communication_s", seconds),
    Column("Exposed", "exposed_communication_s", seconds),
    Column("Hidden by compute", "overlap", percent),
    Column("Copies, fills", lambda device: device.memcpy_s + device.memset_s, seconds),
    Column("Busy", "busy_s", seconds),
    Column("Idle", "idle_s", seconds),
    Column("Share idle", _idle_share, percent),
    Column("Most of it", _most_of_it, kind=Kind.TEXT),
)
CAUSES = (
    Column("Cause", 0, kind=Kind.TEXT),
    Column("Time", 1, seconds),
    Column("Of the idle time", 2, percent),
)
COPIES = (
    *_OF_DEVICE,
    Column("Direction, memory of the host", lambda row: _direction(row[1]), kind=Kind.TEXT),
    Column("Copies", _of("count"), count),
    Column("Bytes", _of("bytes"), bytes_),
    Column("Time", _of("seconds"), seconds),
    Column("While no kernel ran", _of("exposed_s"), seconds),
)
STREAMS = (
    *_OF_DEVICE,
    Column("Stream", _of("stream"), count),
    Column("Rows", _of("rows"), count),
    Column("Busy", _of("busy_s"), seconds),
    Column("Host wait", _of("host_wait_s"), seconds),
    Column("Kernel wait", _of("kernel_wait_s"), seconds),
    Column("Other", _of("other_s"), seconds),
    Column("Before and after", _of("edge_s"), seconds),
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
