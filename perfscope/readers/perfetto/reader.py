"""Reads Perfetto's own traces: track events, as the Perfetto SDK and perfscope's export write them.

They go through the decoder of Kineto's profiles, like Nsight Systems' tables.

Source: rocprofiler-sdk, generatePerfetto.cpp: categories are those of its records, and facts beside
each slice name agents, queues and the correlation id.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.memory import rows_that_fit
from perfscope.readers.common.blocks import Growth, as_text, blocks, too_many_events
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.elsewhere import FileRead, processes_of, read_files
from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.file import Part as Process
from perfscope.readers.kineto.made import Event, begun, ended, feed
from perfscope.readers.kineto.processes import split
from perfscope.readers.kineto.reader import Form, joined
from perfscope.readers.rocprof import records
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Trace

RUNTIME = ("hip_api", "hsa_api", "rccl_api")
MARKERS = "marker_api"
KERNELS, COPIES = "kernel_dispatch", "memory_copy"
CALL = {"correlation": "corr_id"}


class Meaning(NamedTuple):
    """What slices of a category and name are in a profile of Kineto's."""

    category: str  # theirs there
    fixed: dict[str, int]  # arguments that all of them have
    renamed: dict[str, str]  # arguments by the names of the facts that tell them as whole numbers


def meaning_of(category: str, name: str) -> Meaning:
    """What slices are; as they are where the category is unknown.

    The name of a copy is its direction.
    """
    if category in RUNTIME:
        return Meaning("cuda_runtime", {}, CALL)
    if category == MARKERS:
        return Meaning("user_annotation", {}, {})
    if category == KERNELS:
        return Meaning("kernel", {"stream": 0}, {**CALL, "device": "agent", "stream": "queue"})
    if category == COPIES:
        side = "src_agent" if records.is_to_host(name) else "dst_agent"
        told = {**CALL, "device": side, "bytes": "copy_bytes"}
        return Meaning("gpu_memcpy", {"stream": 0}, told)
    return Meaning(category, {}, {})


FIRST_LANE = 1 << 40
MOST_DEPTH = 64


class Track(NamedTuple):
    """Where events stand: a thread, a process, a counter, or something below one of them."""

    uuid: int
    name: str = ""
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    process_name: str = ""
    labels: Sequence[str] = ()
    unit: str | None = None  # of a counter


@dataclass
class Tracks:
    """All tracks that a trace describes, in that order."""

    by_uuid: Mapping[int, Track]  # each of them
    shift: int  # what process numbers in the file are more than ours
    _lanes: dict[tuple[int, str] | int, int] = field(default_factory=dict)

    def place(self, uuid: int) -> tuple[int, int]:
        """Process and thread of a track; what is no thread gets a number of its own.

        Tracks of one name below one other are one: Chrome has one for each slice that may overlap.
        """
        track = self[uuid]
        own_tid = track.tid
        lane = (track.parent, track.name) if track.parent is not None and track.name else uuid
        for _ in range(MOST_DEPTH):
            if track.pid is not None or track.parent is None:
                break
            track = self[track.parent]
        if own_tid is None:
            own_tid = self._lanes.setdefault(lane, FIRST_LANE + len(self._lanes))
        return (track.pid or 0) - self.shift, own_tid

    def __getitem__(self, uuid: int) -> Track:
        """A track, of which nothing is known where the trace does not describe it."""
        return self.by_uuid.get(uuid) or Track(uuid)

    def counter(self, uuid: int) -> tuple[str, str]:
        """What is counted on a track, and in what unit."""
        track = self[uuid]
        return track.name, track.unit or "value"

    def named(self, used: set[tuple[int, int]]) -> Iterator[Event]:
        """What processes and threads are called, those alone that are used."""
        order: dict[int, int] = {}
        for uuid, track in self.by_uuid.items():
            pid, tid = self.place(uuid)
            if track.process_name:
                yield _named("process_name", pid, 0, track.process_name)
                for label in track.labels:
                    yield _named("process_labels", pid, 0, label, key="labels")
            elif track.name and (pid, tid) in used:
                order[pid] = order.get(pid, -1) + 1
                yield _named("thread_name", pid, tid, track.name)
                yield _named("thread_sort_index", pid, tid, order[pid], key="sort_index")


def _named(name: str, pid: int, tid: int, value: str | int, key: str = "name") -> Event:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": {key: value}}


GROWTH = Growth(ratio=200, most_bytes=1 << 40)
ENTRY_BYTES = 400
"""What each event takes at the peak (docs/engine.md), and some room."""
VARINT, BYTES, FIXED = 0, 2, {1: 8, 5: 4}
"""Types of fields of protocol buffers; bytes of those of one length."""
LONGEST_VARINT = 10
PACKET_TAG, FACTS = 0x0A, "perfscope.export"
NUMBERS = {3, 8, 10, 13, 41, 42, 58, 79, 87, 98}
"""Fields of a packet that are numbers (trace_packet.proto); all others are messages."""
SIGNS = {3, 8, 10}
"""Who wrote it, when, and in which sequence: each packet has one, a plane of XPlane has none."""
MESSAGES = {6, 11, 12, 60}
ACTION = "Copy the file again, or record again."
NO_COMMUNICATION = "track events of other programs do not tell when ranks communicate"
PERFETTO = Form(
    Format.PERFETTO,
    no_devices="the trace holds no slice of a device (category kernel, gpu_memcpy or gpu_memset)",
    no_steps="no slice is called ProfilerStep#N",
)


def _fields(message: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each field of a message of protocol buffers; None of a number.

    Raises:
        ValueError: a field does not end inside of the message, or has an unknown type.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == VARINT:
            _, place = _varint(message, place)
            yield key >> 3, None
            continue
        if kind == BYTES:
            length, place = _varint(message, place)
        else:
            length = FIXED.get(kind, -1)
        if not 0 <= length <= len(message) - place:
            raise ValueError("no message")
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for shift, byte in enumerate(message[place : place + LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    raise ValueError("a number does not end")


def _recognizes(place: Place) -> bool:
    """Whether the file begins with a packet of fields that Perfetto has."""
    if place.head[:1] != bytes([PACKET_TAG]):
        return False
    try:
        number, first = next(_fields(place.head))
        found = {inner: content is not None for inner, content in _fields(first or b"")}
    except ValueError:
        return False
    if number != 1 or not found:
        return False
    is_sound = all(is_message != (inner in NUMBERS) for inner, is_message in found.items())
    return is_sound and bool(SIGNS & found.keys() or found.keys() <= MESSAGES)


def _open(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these traces tell of.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read, notes = read_files(paths, _read, options)
    trace = joined(processes_of(read), notes, paths, options, PERFETTO)
    if not trace.environment["is_export"]:
        trace.not_recorded = {"communication": NO_COMMUNICATION, **trace.not_recorded}
    return trace


def _read(path: Path) -> FileRead:
    return FileRead(*split(_contents(path)))


def _contents(path: Path) -> KinetoContents:
    notes: list[str] = []
    trace = engine.PerfettoTrace(as_text(path), FACTS, rows_that_fit(row_bytes=ENTRY_BYTES))
    try:
        for block in blocks(path, notes.append, GROWTH):
            trace.feed(block)
        trace.finish()
    except engine.FormatError as error:
        _, offset, reason = error.args
        raise UnreadableInputError(
            f"{path} cannot be read as a trace of Perfetto.",
            why=f"It is cut off or damaged at byte {offset:,}: {reason}.",
            action=ACTION,
        ) from error
    if trace.is_full:
        raise too_many_events(path)
    members = _members(trace.facts())
    if not members and not trace.used():
        raise UnreadableInputError(
            f"{path} holds no track event of Perfetto.",
            why="What else such a trace may hold (scheduling, memory, frames, logs) is not read.",
            action="Record track events, as Perfetto's SDK and rocprofv3 write them.",
        )
    described = {track.uuid: track for track in starmap(Track, trace.tracks())}
    tracks = Tracks(described, 1 if members else 0)  # an export numbers ranks from 1 on
    places = [tracks.place(uuid) for uuid in trace.used()]
    file = begun(members)
    feed(file, tracks.named(set(places)))
    counters = [tracks.counter(uuid) for uuid in trace.used()]
    trace.into(
        file,
        [(str(pid), str(tid), *of) for (pid, tid), of in zip(places, counters, strict=True)],
        [meaning_of(*kind) for kind in trace.kinds()],
    )
    contents = ended(path, file, Process())
    contents.notes += notes
    return contents


def _members(arguments: str) -> dict[str, Any]:
    """What an export of perfscope has beside its events."""
    try:
        told = json.loads(arguments or "{}")
        facts = told.get("facts") if isinstance(told, dict) else None
        found = json.loads(facts) if isinstance(facts, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


READER = Reader(
    format=Format.PERFETTO,
    description="a trace of Perfetto with track events (.perfetto-trace, .pftrace)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        efficiencies="of an export of perfscope",
        waits="collectives, messages of such an export",
        phases="slices by their names, `ProfilerStep#N`",
        devices="slices of the categories that PyTorch's profiler or rocprofv3 has",
        counters="yes",
        clock="where it has a snapshot of the wall clock",
        known_from="files of Chrome and of perfscope; rocprofv3's by the facts of a published one",
    ),
    joins=True,
)
