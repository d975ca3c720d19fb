"""Reads Perfetto's own traces: track events, as the Perfetto SDK and perfscope's export write them.

They go through the decoder of Kineto's profiles, like Nsight Systems' tables.
"""

import json
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.readers.common.blocks import Growth, as_text, blocks
from perfscope.readers.common.memory import rows_that_fit
from perfscope.readers.common.protobuf import DamagedError, Part
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.file import Part as Process
from perfscope.readers.kineto.made import begun, ended, feed
from perfscope.readers.kineto.processes import split
from perfscope.readers.kineto.reader import Form, joined, read_each
from perfscope.readers.perfetto.rocprof import meaning_of
from perfscope.readers.perfetto.tracks import Track, Tracks
from perfscope.trace.model import Format, Trace

GROWTH = Growth(ratio=200, most_bytes=1 << 40)
ENTRY_BYTES = 400
"""What each event takes at the peak (docs/engine.md), and some room."""
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


def _recognizes(place: Place) -> bool:
    """Whether the file begins with a packet of fields that Perfetto has."""
    head = place.head
    if head[:1] != bytes([PACKET_TAG]):
        return False
    try:
        number, first = next(Part(memoryview(head), 0).fields())
        if number != 1 or not isinstance(first, Part) or not first.data:
            return False
        found = {inner: isinstance(value, Part) for inner, value in first.fields()}
    except (DamagedError, StopIteration):
        return False
    is_sound = all(is_message != (inner in NUMBERS) for inner, is_message in found.items())
    return is_sound and bool(SIGNS & found.keys() or found.keys() <= MESSAGES)


def _open(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these traces tell of.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read, notes = read_each(paths, _contents)
    files: list[KinetoContents] = []
    for contents in read:
        parts, said = split(contents)
        files += parts
        notes += said
    trace = joined(files, notes, paths, options, PERFETTO)
    if not trace.environment["is_export"]:
        trace.not_recorded = {"communication": NO_COMMUNICATION, **trace.not_recorded}
    return trace


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
        raise UnreadableInputError(
            f"{path} has too many events to be read.",
            why="They do not fit into half of the memory that is left.",
            action="Record a shorter part of the run.",
        )
    members = _members(trace.facts())
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
        waits="collectives of such an export",
        phases="slices by their names, `ProfilerStep#N`",
        devices="slices of the categories that PyTorch's profiler or rocprofv3 has",
        counters="yes",
        clock="where it has a snapshot of the wall clock",
        known_from="files of Chrome and of perfscope; those of rocprofv3 by the description",
    ),
    joins=True,
)
