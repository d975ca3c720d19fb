"""Reads SQLite exports of Nsight Systems, of one process or several, one file or one a rank."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.database import MAGIC
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.elsewhere import FileRead, processes_of, read_files
from perfscope.readers.kineto.file import KinetoContents, Part
from perfscope.readers.kineto.made import contents_from
from perfscope.readers.kineto.reader import Form, joined
from perfscope.readers.nsys import events, system_calls, world
from perfscope.readers.nsys.database import ExportDatabase, pid_of
from perfscope.readers.nsys.events import Export
from perfscope.readers.nsys.system_calls import SystemCall
from perfscope.readers.nsys.world import Membership
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

NSYS = Form(
    Format.NSYS,
    no_devices="the report holds no work of a device: nsys profile --trace=cuda,nvtx,mpi",
    no_steps="no NVTX range is called like a step (`step 12`): name one around each step",
    with_hosts="nsys profile --trace=cuda,nvtx,mpi",
)

NO_MPI = (
    "no report holds a call of MPI (nsys profile --trace=cuda,nvtx,mpi): how long ranks waited for "
    "each other is not known"
)


@dataclass(frozen=True)
class _Beside:
    """What a file tells beside what its processes did."""

    called: Sequence[SystemCall]
    memberships: Sequence[Membership | None]  # of each process


def _recognizes(place: Place) -> bool:
    if place.is_directory or not place.raw.startswith(MAGIC):
        return False
    try:
        with ExportDatabase(place.path) as database:
            return database.is_nsys
    except UnreadableInputError:
        return b"TARGET_INFO_SESSION_START_TIME" in place.raw


def open_nsys(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these exports tell of.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read, notes = read_files(paths, _read, options)
    beside: list[_Beside] = [found.more for found in read]
    in_nccl = [one for more in beside for one in more.memberships]
    files = world.numbered(processes_of(read), in_nccl)
    trace = joined(files, notes, paths, options, NSYS)
    called = [call for more in beside for call in more.called]
    trace.tool_reports += system_calls.told(trace, called, paths[0])
    trace.notes += _doubts_on_world(trace)
    if len(trace.ranks) > 1 and not any(len(rank.operations) for rank in trace.ranks):
        trace.not_recorded = {**trace.not_recorded, "communication": NO_MPI}
    return trace


def _doubts_on_world(trace: Trace) -> list[str]:
    """Takes collectives apart again that ranks cannot have made together, and says so."""
    tables = [rank.operations for rank in trace.ranks]
    made = [rows["op"][rows["comm"] >= 0] for rows in tables]
    if all(np.array_equal(one, made[0]) for one in made):
        return []
    for rows in tables:
        rows["comm"] = rows["seq"] = -1
    return ["The ranks made other collectives than each other: who waited for whom is not told."]


def _read(path: Path) -> FileRead:
    """What each rank of a file did, and its calls of the system."""
    with ExportDatabase(path) as database:
        export = _export(database)
        chosen = events.processes(database, export.ranks)
        if not chosen:
            raise UnreadableInputError(
                f"{path} holds no event of a program.",
                why="It has no kernel, no call of CUDA or MPI and no NVTX range.",
                action="Profile with nsys profile --trace=cuda,nvtx,mpi",
            )
        members = world.memberships(database)
        shown = world.shown_by_mpi(database)
        sizes = {pid: max(shown, one.processes) for pid, one in members.items()}
        parts = {
            pid: Part(
                "" if len(chosen) == 1 else str(pid),
                export.ranks.get(pid),
                export.host,
                str(pid),
                shown_ranks=sizes.get(pid, shown),
                is_alone=pid in members and members[pid].is_whole,
            )
            for pid in chosen
        }
        found = [_contents(path, export, pid, part) for pid, part in parts.items()]
        notes = []
        if len(chosen) > 1:
            count = counted(len(chosen), "process", "processes")
            notes.append(f"{path.name} holds {count}; each was read as a rank.")
        called = [call for pid in chosen for call in system_calls.system_calls(export, pid)]
        return FileRead(found, notes, _Beside(called, [members.get(pid) for pid in chosen]))


def _export(database: ExportDatabase) -> Export:
    return Export(
        database,
        strings=database.strings("StringIds", "value"),
        origin_ns=_origin_ns(database),
        ranks=_ranks(database),
        domains=_domains(database),
        host=_host(database),
    )


def _contents(path: Path, export: Export, pid: int, part: Part) -> KinetoContents:
    members = {"deviceProperties": _devices(export.database, pid)}
    lost = sum(
        export.database.lost_of(pid, table, events.TIMES, "globalPid")
        for table in events.DEVICE_TABLES
    )
    return contents_from(path, events.events_of(export, pid), members, part, without_time=lost)


def _origin_ns(database: ExportDatabase) -> int:
    columns = ("utcEpochNs",)
    rows = database.rows("TARGET_INFO_SESSION_START_TIME", columns, whole=columns)
    return next((origin for (origin,) in rows if 0 < origin < 1 << 62), 0)


def _ranks(database: ExportDatabase) -> dict[int, int]:
    """Ranks of MPI by process."""
    columns = ("globalPid", "rank")
    found = {
        pid: rank
        for serialized, rank in database.rows("MPI_RANK", columns, whole=columns)
        if (pid := pid_of(serialized)) is not None and rank >= 0
    }
    return found if len(set(found.values())) == len(found) else {}


def _domains(database: ExportDatabase) -> dict[tuple[int | None, int], str]:
    columns = ("globalTid", "domainId", "text", "eventType")
    rows = database.rows("NVTX_EVENTS", columns, whole=("domainId", "eventType"))
    return {
        (pid_of(thread), domain): text
        for thread, domain, text, kind in rows
        if kind == events.DOMAIN and isinstance(text, str)
    }


def _host(database: ExportDatabase) -> str:
    rows = database.rows("TARGET_INFO_SYSTEM_ENV", ("name", "value"))
    return next(
        (value for name, value in rows if name == "Hostname" and isinstance(value, str)), ""
    )


def _devices(database: ExportDatabase, pid: int) -> list[Mapping[str, Any]]:
    """The GPUs by the numbers that the process gives them."""
    numbers = {
        gpu: number
        for gpu, number, owner in database.rows(
            "TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"), whole=("gpuId", "cudaId")
        )
        if owner == pid
    }
    columns = ("id", "name", "totalMemory", "computeMajor", "computeMinor")
    return [
        {
            "id": numbers.get(gpu, gpu),
            "name": name if isinstance(name, str) else "",
            "totalGlobalMem": memory,
            "computeMajor": major,
            "computeMinor": minor,
        }
        for gpu, name, memory, major, minor in database.rows(
            "TARGET_INFO_GPU", columns, whole=("id",)
        )
        if not numbers or gpu in numbers
    ]


READER = Reader(
    format=Format.NSYS,
    description="an SQLite export of Nsight Systems (nsys export --type sqlite), a file or several",
    recognizes=_recognizes,
    open=open_nsys,
    tells=Tells(
        efficiencies="of MPI",
        waits="collectives",
        phases="NVTX ranges, steps by their names",
        devices="yes",
        resources="time in calls of the operating system, by rank",
        clock="yes",
        known_from="an export of one process, 21 by hand; several ranks by the description",
    ),
    joins=True,
)
