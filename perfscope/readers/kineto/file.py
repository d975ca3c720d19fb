"""One Kineto or Chrome trace file as tables; what is compressed is decompressed on the way."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.engine import engine
from perfscope.errors import UnreadableInputError, refused
from perfscope.files import head_of, parse_json
from perfscope.readers.common.amounts import LONGEST_NS
from perfscope.readers.common.blocks import Growth, as_text, blocks
from perfscope.readers.detect import GZIP
from perfscope.readers.encoding import is_marked
from perfscope.readers.kineto.times import (
    Extent,
    extent,
    inside,
    launches_ns,
    why_nanoseconds,
    why_too_short,
)
from perfscope.structures import dataclass
from perfscope.trace.devices import DEVICE_DTYPE, DeviceKind
from perfscope.trace.elsewhere import Elsewhere
from perfscope.trace.model import Table
from perfscope.units import capitalized, counted

GROWTH = Growth(ratio=200, most_bytes=1 << 40)
"""A trace shrinks to a tenth or a thirtieth; what is smaller still was made to fill memory."""
EPOCH_NS = 10**18
"""Times from here on (2001) count from 1970 even where a file does not say so."""
HOST_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("name", "u4"),
        ("thread", "u4"),  # place in KinetoContents.threads
        ("kind", "u2"),
        ("flags", "u2"),  # RowFlag
        ("category", "u4"),  # its name, of FOREIGN
    ]
)
ANNOTATION, RUNTIME, BACKWARD, OTHER, FOREIGN = range(5)
"""Kinds of host rows, as the engine numbers them; FOREIGN are those of other tools."""
SAMPLE_DTYPE = np.dtype([("t", "i8"), ("name", "u4"), ("process", "u4"), ("value", "f8")])
CALL_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("seq", "i8"),  # ordinal of a collective in its group, -1 none
        ("sent", "i8"),
        ("received", "i8"),
        ("calls", "i8"),  # that the one stands for, 0: only for itself
        ("request", "i8"),  # its number on the rank, 0 none
        ("name", "u4"),
        ("thread", "u4"),
        ("group", "i4"),  # place in KinetoContents.groups, -1 none
        ("root", "i4"),  # -1 none
        ("peer", "i4"),  # of a message, or PEER_*
        ("tag", "i4"),
        ("source", "i4"),  # of a combined call: from whom its other message came, or PEER_*
        ("received_tag", "i4"),
        ("kind", "u4"),  # CALL, BACKGROUND, REQUEST
        ("flags", "u4"),  # RowFlag
    ]
)
"""Calls of communication libraries and ends of their requests, as perfscope exports them."""
CALL, BACKGROUND, REQUEST = range(3)
"""Kinds of calls, as the engine numbers them: of Horovod's own thread, and ends of requests."""
DESCRIPTORS = (" [clone .kd]", ".kd")
"""Behind a kernel's name what AMD's compiler calls its descriptor by: some tools give that name."""
LAUNCH_DTYPE = np.dtype([("correlation", "i8"), ("process", "i8"), ("t", "i8")])
ACTION = "Write the trace again, or give the other files of the run without this one."


@dataclass(frozen=True)
class Thread:
    """Where events happened: a thread of the host or a stream, as the file names it."""

    process: str
    thread: str
    name: str
    events: int

    def number(self, otherwise: int) -> int:
        """The thread's number, or another where its name is no number."""
        text = self.thread
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


@dataclass(frozen=True)
class ProcessName:
    """A process as the file names it; a device counts as one there."""

    number: str
    name: str
    labels: str


@dataclass(frozen=True)
class GroupArguments:
    """A process group as the arguments of a collective tell it; "", -1 and 0 where they do not."""

    name: str
    ranks: str
    start: int
    stride: int
    size: int


@dataclass(frozen=True)
class Part:
    """Which process of a file this is, and what its name there tells; "" and None are unknown."""

    process: str = ""  # as the file numbers it, where it holds several
    rank: int | None = None
    host: str = ""
    pid: str = ""
    lived_ns: tuple[int, int] | None = None  # from when to when, as the file says it
    shown_ranks: int = 0  # as many the job has at least, by what the file tells beside its events
    is_alone: bool = False  # whether the file tells that it communicates with no other process


@dataclass(frozen=True)
class DeviceTable:
    """Device rows of a file that another process holds."""

    count: int
    names: Ints  # of the rows and their collectives, places in KinetoContents.names
    place: Elsewhere | None = None
    handle: Any = None


@dataclass
class KinetoContents:
    """What one file holds; times in ns since 1970 where `has_base`, else as the file counts."""

    path: Path
    device: Table  # `comm` is a place in `groups`
    device_processes: npt.NDArray[np.uint32]  # of each device row, place in `processes`
    host: Table
    calls: Table
    counters: Table
    names: list[str]
    threads: list[Thread]
    processes: list[ProcessName]
    groups: list[GroupArguments]
    launches: Table  # of the runtime, where several processes launched
    members: Mapping[str, Any]
    counts: Mapping[str, int]
    start_ns: int
    end_ns: int
    has_base: bool
    cut_at: int | None
    notes: list[str]  # on its times
    part: Part = Part()
    main_tid: int | None = None  # as an export of perfscope has it
    elsewhere: DeviceTable | None = None
    """Where another process holds the device rows, and none are here."""

    @property
    def device_count(self) -> int:
        """Number of device rows."""
        return self.elsewhere.count if self.elsewhere else len(self.device)

    @property
    def device_names(self) -> Ints:
        """Places in `names` of what device rows and their collectives are called."""
        if self.elsewhere:
            return self.elsewhere.names
        used = np.unique([self.device["name"], self.device["op"]]).astype(np.int64)
        found: Ints = used[used >= 0]
        return found

    @property
    def host_name(self) -> str:
        """Where the process ran, "" unknown."""
        return str(self.part.host or self.members.get("host_name") or "")[:200]

    @property
    def rank(self) -> object:
        """The rank as the file says it, of whatever type that is; None where it does not."""
        told = None if self.part.process else self.distributed.get("rank")
        return self.part.rank if told is None else told

    @property
    def distributed(self) -> Mapping[str, Any]:
        """What the process said of its place in the job."""
        found = self.members.get("distributedInfo")
        return found if isinstance(found, Mapping) else {}


def _ignore(_: str) -> None:
    """The engine finds where the text of a cut file ends."""


def read_kineto(path: Path) -> KinetoContents:
    """The tables of one file.

    Raises:
        UnreadableInputError: it is damaged, holds no events, or grows without bound.
    """
    file = _decoded(path)
    if file.extent[0] > file.extent[1] and file.counts()["beyond"]:
        return _in_nanoseconds(path, "as microseconds, they would lie behind the year 2096")
    contents = contents_of(path, file)
    launches = launches_ns(contents.host, contents.names, runtime=RUNTIME)
    if why := why_nanoseconds(launches, file.shortest):
        return _in_nanoseconds(path, why)
    if why := why_too_short(launches):
        raise _senseless(path, f"{capitalized(why)}.")
    return contents


def _decoded(path: Path, *, is_in_nanoseconds: bool = False) -> engine.KinetoFile:
    name = as_text(path)
    file = engine.KinetoFile(name, is_in_nanoseconds)
    try:
        head = head_of(path, len(codecs.BOM_UTF8))
        # the engine takes the path as text alone
        if head.startswith(GZIP) or is_marked(head) or name != str(path):
            for block in blocks(path, _ignore, GROWTH):
                file.feed(block)
        else:
            file.read()
        file.finish()
    except engine.FormatError as error:
        _, offset, reason = error.args
        where = "of the uncompressed text" if path.suffix == ".gz" else "of the file"
        raise UnreadableInputError(
            f"{path} cannot be read as a Kineto or Chrome trace.",
            why=f"At byte {offset} {where}: {reason}.",
            action=ACTION,
        ) from error
    except OSError as error:
        raise refused(path, error) from error
    return file


def _in_nanoseconds(path: Path, why: str) -> KinetoContents:
    """The file with its times read as nanoseconds, which the format does not have."""
    contents = contents_of(path, _decoded(path, is_in_nanoseconds=True))
    contents.notes.append(f"The times in {path.name} were read as nanoseconds: {why}.")
    return contents


def _senseless(path: Path, why: str) -> UnreadableInputError:
    return UnreadableInputError(
        f"The times in {path} make no sense.",
        why=why,
        action="Write the trace again with times in microseconds, or give the other files without "
        "this one.",
    )


def contents_of(
    path: Path, file: engine.KinetoFile, lived_ns: tuple[int, int] | None = None
) -> KinetoContents:
    """The tables of a decoded file, of a process that lived as long as it says.

    Raises:
        UnreadableInputError: it holds no event, or its times make no sense.
    """
    counts = file.counts()
    if file.extent[0] > file.extent[1]:
        raise UnreadableInputError(
            f"{path} tells of nothing that takes time.",
            why=f"None of its {counted(counts['events'], 'event')} has both a time and a duration.",
            action="Keep the profiler active for some steps of the run.",
        )
    device, host = file.take_device().view(DEVICE_DTYPE), file.take_host().view(HOST_DTYPE)
    calls = file.take_calls().view(CALL_DTYPE)
    members = {name: _value(text) for name, text in file.members().items()}
    found = Extent(*file.extent)
    if not is_own_export(members):  # a job may rest for an hour, and its recording tells it
        tables = {"device": device, "host": host, "calls": calls}
        found = extent(tables, file.edges, file.extent, counts["events"], lived_ns)
    days = (found.end_ns - found.start_ns) / 86400e9
    if found.end_ns - found.start_ns > LONGEST_NS:
        raise _senseless(path, f"From its first to its last event pass {days:,.0f} days.")
    kept = inside(device, found)
    counters = file.take_counters().view(SAMPLE_DTYPE)
    return KinetoContents(
        path=path,
        device=device[kept],
        device_processes=file.take_device_processes()[kept],
        calls=calls[inside(calls, found)],
        processes=[ProcessName(*process) for process in file.processes()],
        groups=[GroupArguments(*group) for group in file.groups()],
        launches=file.take_launches().view(LAUNCH_DTYPE),
        host=host[inside(host, found) & _is_read(host, members, counts)],
        counters=counters[inside(counters, found, "t", "t")],
        names=plain_kernels(file.names(), device[kept]),
        threads=[Thread(*thread) for thread in file.threads()],
        members=members,
        counts=counts,
        start_ns=found.start_ns,
        end_ns=found.end_ns,
        has_base=file.has_base,
        cut_at=file.cut_at,
        notes=_said_of_times(path, counts, found),
    )


def _is_read(host: Table, members: Mapping[str, Any], counts: Mapping[str, int]) -> Bools:
    """Which host rows count: in a profile of PyTorch those of unknown categories do not."""
    told = {"schemaVersion", "deviceProperties", "distributedInfo"} & members.keys()
    is_kineto = told or counts["operators"] or counts["device"]
    result: Bools = (host["kind"] != FOREIGN) | (not is_kineto)
    return result


def _said_of_times(path: Path, counts: Mapping[str, int], found: Extent) -> list[str]:
    notes = []
    if found.strays:
        apart = f" by at least {found.apart_ns / 1e9:,.0f} s" if found.apart_ns else ""
        notes.append(
            f"{path.name}: set aside {counted(found.strays, 'event')} apart from all others{apart}."
        )
    if counts["base_twice"]:
        notes.append(
            f"{path.name}: its times count from 1970 already; baseTimeNanoseconds was not added."
        )
    return notes


def plain_kernels(names: list[str], device: Table) -> list[str]:
    """The names, of kernels among them without their descriptors: one kernel has one name."""
    is_kernel = np.isin(device["kind"], (DeviceKind.COMPUTE, DeviceKind.COMMUNICATION))
    for place in np.unique(device["name"][is_kernel]).tolist():
        if 0 <= place < len(names):
            names[place] = _plain(names[place])
    return names


def _plain(kernel: str) -> str:
    for suffix in DESCRIPTORS:
        kernel = kernel.removesuffix(suffix)
    return kernel


def is_own_export(members: Mapping[str, Any]) -> bool:
    """Whether perfscope wrote the file, by what stands beside its events."""
    other = members.get("otherData")
    tool = other.get("tool") if isinstance(other, Mapping) else None
    return isinstance(tool, str) and tool.startswith("perfscope ")


def _value(text: str) -> Any:
    try:
        return parse_json(text, [])
    except ValueError:
        return None
