"""The events of one process of an export, as PyTorch's profiler would write them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from perfscope.readers.kineto.made import Event, interval
from perfscope.readers.nsys.database import ExportDatabase
from perfscope.structures import dataclass

RANGES = (59, 60)
"""NvtxPushPopRange and NvtxStartEndRange, of which an export has both ends."""
DOMAIN = 75
"""NvtxDomainCreate: its text is the name of the domain."""
DEVICE_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_memset",
}
RUNTIME_TABLE, RANGE_TABLE = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
SYSTEM_TABLE = "OSRT_API"
TIMES = ("start", "end")
OF_THREAD = (*TIMES, "globalTid")
MPI_TABLES = (
    "MPI_COLLECTIVES_EVENTS",
    "MPI_P2P_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "MPI_OTHER_EVENTS",
)
COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
WORLD = "world"
_VERSION = re.compile(r"(_pt[ds][sz])?_v\d+$")
_STEP = re.compile(
    r"(?:\w+[\s_-])?(?:step|iter|iteration|batch)[\s_:=#-]*(\d{1,18})", re.IGNORECASE
)
"""What outermost ranges are called that are a step: `step 12`, `train_iteration_3`, `Batch #7`."""
_OPERATOR = re.compile(r"(.+?)(?:, seq = \d{1,20})?, op_id = \d{1,20}|(.+), seq = \d{1,20}")
"""An operator of PyTorch as torch.autograd.profiler.emit_nvtx names it: a part of a phase."""
_DEVICE_COLUMNS = ("start", "end", "deviceId", "streamId", "correlationId")
_CALL_COLUMNS = (
    "start",
    "end",
    "globalTid",
    "textId",
    "commHandle",
    "rootRank",
    "size",
    "recvSize",
)


def tid_of(serialized: Any) -> int:
    """The thread of a serialized id."""
    return serialized & 0xFFFFFF if isinstance(serialized, int) else 0


@dataclass(frozen=True)
class Export:
    """What all processes of an export share."""

    database: ExportDatabase
    strings: Mapping[int, str]  # texts by number
    origin_ns: int = 0  # since 1970, when its times are 0; 0 unknown
    ranks: Mapping[int, int] = field(default_factory=dict)  # of MPI by process
    # names of NVTX domains by process and number
    domains: Mapping[tuple[int | None, int], str] = field(default_factory=dict)
    host: str = ""  # where it was recorded, "" unknown

    def text(self, number: Any, otherwise: Any = None) -> str:
        """A text by number; another one where there is none."""
        found = self.strings.get(number) if isinstance(number, int) else None
        return found or (otherwise if isinstance(otherwise, str) else "") or "unknown"


def processes(database: ExportDatabase, ranks: Mapping[int, int]) -> list[int]:
    """The processes that are ranks: those of MPI or with work of a device, else those with events.

    Calls of the operating system are told of launchers, too: they count where nothing else is.
    """
    used, seen = set[int](), set[int]()
    for table in DEVICE_TABLES:
        used |= database.processes(table, "globalPid")
    for table in MPI_TABLES:
        used |= database.processes(table, "globalTid")
    for table in (RUNTIME_TABLE, RANGE_TABLE):
        seen |= database.processes(table, "globalTid", whole=("end",))
    if not used | seen:
        seen = database.processes(SYSTEM_TABLE, "globalTid", whole=TIMES)
    return sorted(ranks.keys() & (used | seen)) or sorted(used or seen)


def events_of(export: Export, pid: int) -> Iterator[Event]:
    """What one process did."""
    is_told = False
    for found in (_device, _runtime, _ranges, _calls, _life):
        if found is _life and is_told:
            break
        for event in found(export, pid):
            is_told = True
            event["ts"] += export.origin_ns
            event["pid"] = pid
            yield event


def _life(export: Export, pid: int) -> Iterator[Event]:
    """From the first to the last call of the system: when it ran, where nothing else tells."""
    for start, end in export.database.extent(SYSTEM_TABLE, pid):
        yield interval("overhead", "Calls of the operating system", start, end, pid, {})


def _numbers(**told: Any) -> dict[str, int]:
    """What of the arguments of an event is a whole number."""
    return {key: value for key, value in told.items() if isinstance(value, int)}


def _device(export: Export, pid: int) -> Iterator[Event]:
    """Kernels, copies and fills, on the streams of their devices."""
    for table, category in DEVICE_TABLES.items():
        columns = (*_DEVICE_COLUMNS, "demangledName", "shortName", "bytes", "copyKind")
        for row in export.database.rows_of(pid, table, columns, TIMES, "globalPid"):
            start, end, device, stream, correlation, name, short, size, copy = row
            if category == "kernel":
                label = export.text(name, export.text(short))
            else:
                label = "Memset" if category == "gpu_memset" else f"Memcpy {COPIES.get(copy, '')}"
            told = _numbers(device=device, stream=stream, correlation=correlation, bytes=size)
            yield interval(category, label.rstrip(), start, end, told.get("stream", 0), told)


def _runtime(export: Export, pid: int) -> Iterator[Event]:
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    rows = export.database.rows_of(pid, RUNTIME_TABLE, columns, TIMES, "globalTid")
    for start, end, thread, correlation, name in rows:
        label, told = _VERSION.sub("", export.text(name)), _numbers(correlation=correlation)
        yield interval("cuda_runtime", label, start, end, tid_of(thread), told)


def _ranges(export: Export, pid: int) -> Iterator[Event]:
    """What the program named; what libraries name in domains of their own is no phase of it.

    Only where nothing stands in the default domain the others count, but for NCCL's.
    """
    columns = ("start", "end", "globalTid", "eventType", "text", "textId", "domainId")
    found = export.database.rows_of(pid, RANGE_TABLE, columns, OF_THREAD, "globalTid")
    rows = [row for row in found if row[3] in RANGES]
    plain = [row for row in rows if not row[6]] or rows
    plain.sort(key=lambda row: (row[0], -row[1]))
    step_ends: dict[int, int] = {}  # of the outermost step of each thread
    for start, end, thread, _, own, number, domain in plain:
        if "nccl" in export.domains.get((pid, domain), "").lower():
            continue
        name = own if isinstance(own, str) and own else export.text(number)
        operator = _OPERATOR.match(name)
        if operator:
            label = operator[1] or operator[2]
            yield interval("cpu_op", label, start, end, tid_of(thread), {})
            continue
        step = _STEP.fullmatch(name.strip())
        label = name
        if step and start >= step_ends.get(thread, start):
            label, step_ends[thread] = f"ProfilerStep#{int(step[1])}", end
        yield interval("user_annotation", label, start, end, tid_of(thread), {})


def _calls(export: Export, pid: int) -> Iterator[Event]:
    """Calls of MPI. Handles of communicators mean nothing elsewhere: a single one is the world."""
    calls = [
        (table, row)
        for table in MPI_TABLES
        for row in export.database.rows_of(pid, table, _CALL_COLUMNS, OF_THREAD, "globalTid")
    ]
    calls.sort(key=lambda call: call[1][:2])
    collective = [row for table, row in calls if table == MPI_TABLES[0]]
    is_world = len({row[4] for row in collective}) == 1
    seen = set()
    sequence = 0
    for table, (start, end, thread, text, _, root, size, received) in calls:
        if (start, end, thread) in seen:  # a wait for several requests has a row of each
            continue
        seen.add((start, end, thread))
        name = export.text(text)
        told: dict[str, Any] = {}
        if table == MPI_TABLES[0]:
            told |= {"sent_bytes": size, "received_bytes": received, "root": root}
            if is_world:
                told |= {"Process Group Name": WORLD, "Seq": sequence}
                sequence += 1
        elif isinstance(size, int):
            told["sent_bytes" if "send" in name.lower() else "received_bytes"] = size
        told = {key: value for key, value in told.items() if value is not None}
        yield interval("operation", name, start, end, tid_of(thread), told)
