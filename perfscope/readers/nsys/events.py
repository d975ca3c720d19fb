"""The events of one process of an export, as PyTorch's profiler would write them.

What an export tells is what a profile of Kineto tells, in tables instead of JSON: kernels, copies
and fills with the calls that launched them, ranges that the program named, and calls of MPI. So
the engine's decoder of that format takes them, in nanoseconds, and all that is known of devices,
launches, process groups and phases holds for both.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfscope.readers.nsys.database import Database

RANGES = (59, 60)
"""NvtxPushPopRange and NvtxStartEndRange, of which an export has both ends."""
DOMAIN = 75
"""NvtxDomainCreate: its text is the name of the domain."""
DEVICE_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "gpu_memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "gpu_memset",
}
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
_DEVICE_COLUMNS = ("start", "end", "globalPid", "deviceId", "streamId", "correlationId")
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


def pid_of(serialized: Any) -> int | None:
    """The process of a serialized id of a process or thread, None where it is none."""
    return serialized >> 24 & 0xFFFFFF if isinstance(serialized, int) else None


def tid_of(serialized: Any) -> int:
    """The thread of a serialized id."""
    return serialized & 0xFFFFFF if isinstance(serialized, int) else 0


@dataclass(frozen=True)
class Export:
    """What all processes of an export share.

    Attributes:
        database: the export.
        strings: texts by number.
        origin_ns: since 1970, when its times are 0; 0 unknown.
        ranks: of MPI by process.
        domains: names of NVTX domains by process and number.
    """

    database: Database
    strings: Mapping[int, str]
    origin_ns: int = 0
    ranks: Mapping[int, int] = field(default_factory=dict)
    domains: Mapping[tuple[int | None, int], str] = field(default_factory=dict)

    def text(self, number: Any, otherwise: Any = None) -> str:
        """A text by number; another one where there is none."""
        found = self.strings.get(number) if isinstance(number, int) else None
        return found or (otherwise if isinstance(otherwise, str) else "") or "unknown"


def processes(database: Database, ranks: Mapping[int, int]) -> list[int]:
    """The processes that are ranks: those of MPI or with work of a device, else those with events.

    Args:
        database: the export.
        ranks: those that it names itself.
    """
    used, seen = Counter[int](), Counter[int]()
    for table in DEVICE_TABLES:
        _add(used, database.rows(table, ("globalPid",), whole=("globalPid",)))
    for table in MPI_TABLES:
        _add(used, database.rows(table, ("globalTid",), whole=("globalTid",)))
    for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
        _add(seen, database.rows(table, ("globalTid",), whole=("globalTid", "end")))
    return sorted(ranks.keys() & (used | seen).keys()) or sorted(used or seen)


def _add(counts: Counter[int], rows: Iterator[tuple[Any, ...]]) -> None:
    counts.update(pid for (one,) in rows if (pid := pid_of(one)) is not None)


def texts(export: Export, pid: int, members: Mapping[str, Any]) -> Iterator[str]:
    """A profile of one process as JSON text, event by event.

    Args:
        export: where it stands.
        pid: the process.
        members: what stands beside the events.
    """
    yield json.dumps(members)[:-1] + ', "traceEvents": [{"ph": "M", "name": "process_name"'
    yield f', "pid": {pid}, "args": {{"name": ""}}}}'
    for found in (_device, _runtime, _ranges, _calls):
        for event in found(export, pid):
            event["ts"] += export.origin_ns
            event["pid"] = pid
            yield ",\n" + json.dumps({"ph": "X", **event})
    yield "]}"


Event = dict[str, Any]


def _event(category: str, name: str, start: int, end: int, tid: int, **told: Any) -> Event:
    arguments = {key: value for key, value in told.items() if isinstance(value, int)}
    return {
        "cat": category,
        "name": name,
        "ts": start,
        "dur": end - start,
        "tid": tid,
        "args": arguments,
    }


def _device(export: Export, pid: int) -> Iterator[Event]:
    """Kernels, copies and fills, on the streams of their devices."""
    for table, category in DEVICE_TABLES.items():
        columns = (*_DEVICE_COLUMNS, "demangledName", "shortName", "bytes", "copyKind")
        for row in export.database.rows(table, columns, whole=("start", "end")):
            start, end, owner, device, stream, correlation, name, short, size, copy = row
            if pid_of(owner) not in (None, pid):
                continue
            if category == "kernel":
                label = export.text(name, export.text(short))
            else:
                label = "Memset" if category == "gpu_memset" else f"Memcpy {COPIES.get(copy, '')}"
            told = {"device": device, "stream": stream, "correlation": correlation, "bytes": size}
            track = stream if isinstance(stream, int) else 0
            yield _event(category, label.rstrip(), start, end, track, **told)


def _runtime(export: Export, pid: int) -> Iterator[Event]:
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    for start, end, thread, correlation, name in export.database.rows(
        table, columns, whole=("start", "end")
    ):
        if pid_of(thread) in (None, pid):
            label = _VERSION.sub("", export.text(name))
            told = {"correlation": correlation}
            yield _event("cuda_runtime", label, start, end, tid_of(thread), **told)


def _ranges(export: Export, pid: int) -> Iterator[Event]:
    """What the program named; what libraries name in domains of their own is no phase of it.

    Only where nothing stands in the default domain the others count, but for NCCL's.
    """
    columns = ("start", "end", "globalTid", "eventType", "text", "textId", "domainId")
    rows = [
        row
        for row in export.database.rows("NVTX_EVENTS", columns, whole=("start", "end"))
        if row[3] in RANGES and pid_of(row[2]) == pid
    ]
    plain = [row for row in rows if not row[6]] or rows
    plain.sort(key=lambda row: (row[0], -row[1]))
    step_ends: dict[int, int] = {}  # of the outermost step of each thread
    for start, end, thread, _, own, number, domain in plain:
        if "nccl" in export.domains.get((pid, domain), "").lower():
            continue
        name = own if isinstance(own, str) and own else export.text(number)
        step = _STEP.fullmatch(name.strip())
        label = name
        if step and start >= step_ends.get(thread, start):
            label, step_ends[thread] = f"ProfilerStep#{int(step[1])}", end
        yield _event("user_annotation", label, start, end, tid_of(thread))


def _calls(export: Export, pid: int) -> Iterator[Event]:
    """Calls of MPI. Handles of communicators mean nothing elsewhere: a single one is the world."""
    calls = [
        (table, row)
        for table in MPI_TABLES
        for row in export.database.rows(table, _CALL_COLUMNS, whole=("start", "end"))
        if pid_of(row[2]) == pid
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
        event = _event("operation", name, start, end, tid_of(thread))
        told = event["args"]
        if table == MPI_TABLES[0]:
            told |= {"sent_bytes": size, "received_bytes": received, "root": root}
            if is_world:
                told |= {"Process Group Name": WORLD, "Seq": sequence}
                sequence += 1
        elif isinstance(size, int):
            told["sent_bytes" if "send" in name.lower() else "received_bytes"] = size
        event["args"] = {key: value for key, value in told.items() if value is not None}
        yield event
