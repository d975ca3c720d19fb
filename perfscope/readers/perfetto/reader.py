"""Reads Perfetto's own traces: track events, as the Perfetto SDK and perfscope's export write them.

They go through the decoder of Kineto's profiles, like Nsight Systems' tables.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.common.protobuf import DamagedError, Part
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.file import Part as Process
from perfscope.readers.kineto.made import contents_from
from perfscope.readers.kineto.processes import split
from perfscope.readers.kineto.reader import Form, joined, read_each
from perfscope.readers.perfetto import packets
from perfscope.readers.perfetto.packets import MOST_EVENTS, Event, Packets, TooManyError, Track
from perfscope.trace.model import Format, Trace

PACKET_TAG, FACTS = 0x0A, "perfscope.export"
KNOWN = {6, 8, 10, 11, 12, 13, 33, 35, 36, 41, 42, 56, 58, 59, 60, 87}
"""Fields that the first packet of a trace may begin with (trace_packet.proto)."""
ACTION = "Copy the file again, or record again."
PERFETTO = Form(
    Format.PERFETTO,
    no_devices="the trace holds no slice of a device (category kernel, gpu_memcpy or gpu_memset)",
    no_steps="no slice is called ProfilerStep#N",
)


def _recognizes(place: Place) -> bool:
    """Whether the first two fields of the file are packets of fields that Perfetto has."""
    head = place.head
    if head[:1] != bytes([PACKET_TAG]):
        return False
    try:
        number, first = next(Part(memoryview(head), 0).fields())
        if number != 1 or not isinstance(first, Part) or not first.data:
            return False
        found = {inner for inner, _ in first.fields()}
    except (DamagedError, StopIteration):
        return False
    return found <= KNOWN and bool(found & {6, 8, 10, 11, 12, 60})


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
    return joined(files, notes, paths, options, PERFETTO)


def _contents(path: Path) -> KinetoContents:
    cut: list[str] = []
    content = texts.content_of(path, cut.append, ACTION)
    try:
        trace = Packets(content)
        events = list(_events(trace))
    except DamagedError as error:
        raise UnreadableInputError(
            f"{path} cannot be read as a trace of Perfetto.",
            why=f"It is cut off or damaged {error}.",
            action=ACTION,
        ) from error
    except TooManyError as error:
        raise UnreadableInputError(
            f"{path} has too many events to be read.",
            why=f"At most {MOST_EVENTS:,} are kept, as each takes memory.",
            action="Record a shorter part of the run.",
        ) from error
    facts = next((e["args"].get("facts") for e in events if e.get("name") == FACTS), None)
    members = _members(facts)
    shift = 1 if members else 0
    for event in events:
        event["pid"] -= shift  # an export numbers ranks from 1 on
    kept = [event for event in events if event.get("name") != FACTS]
    return contents_from(path, [*_names(trace, kept, shift), *kept], members, Process())


def _members(facts: object) -> dict[str, Any]:
    """What an export of perfscope has beside its events."""
    try:
        found = json.loads(facts) if isinstance(facts, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names(trace: Packets, events: Sequence[Event], shift: int) -> Iterator[Event]:
    """What processes and threads are called, in the order in which they are described."""
    used = {(event["pid"], event["tid"]) for event in events}
    order: dict[int, int] = {}
    for uuid, track in list(trace.tracks.items()):
        pid, tid = trace.place(uuid)
        pid -= shift
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


def _events(trace: Packets) -> Iterator[Event]:
    """Slices, arrows, instants and counters; what does not end lasts to the last event."""
    waiting: dict[int, list[Event]] = {}
    last = 0
    for moment, kind, fields, sequence in sorted(trace.events(), key=lambda one: one[0]):
        uuid = packets.track_of(fields)
        at = moment + trace.offset_ns
        last = max(last, at)
        pid, tid = trace.place(uuid)
        base: Event = {"pid": pid, "tid": tid, "ts": at}
        if kind == packets.END:
            stack = waiting.get(uuid)
            yield from [_ended(stack.pop(), at)] if stack else []
        elif kind == packets.COUNTER:
            yield from _counter(trace.tracks[uuid], base, packets.counter_value(fields))
        else:
            base["name"] = trace.word(fields, 23, "name", sequence)
            base["cat"] = trace.word(fields, 22, "category", sequence)
            arrows = list(packets.flows(fields))
            yield from (_arrow(base, *arrow) for arrow in arrows)
            base["args"] = trace.annotations(fields, sequence)
            if kind == packets.BEGIN:
                waiting.setdefault(uuid, []).append({**base, "ph": "X"})
            elif kind == packets.INSTANT and not arrows:
                yield {**base, "ph": "i", "s": "t"}
    yield from (_ended(event, last) for stack in waiting.values() for event in stack)


def _ended(event: Event, at: int) -> Event:
    return {**event, "dur": at - event["ts"]}


def _counter(track: Track, base: Event, value: float | None) -> Iterator[Event]:
    if value is not None:
        told = {track.unit or "value": value}
        yield {**base, "ph": "C", "name": track.name, "cat": "counter", "args": told}


def _arrow(base: Event, phase: str, number: int) -> Event:
    ending = {"bp": "e"} if phase == "f" else {}
    return {**base, **ending, "ph": phase, "id": number - 1, "args": {}}


READER = Reader(
    format=Format.PERFETTO,
    description="a trace of Perfetto with track events (.perfetto-trace, .pftrace)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        efficiencies="of an export of perfscope",
        waits="collectives of such an export",
        phases="slices by their names, `ProfilerStep#N`",
        devices="slices of the categories that PyTorch's profiler has",
        counters="yes",
        clock="where it has a snapshot of the wall clock",
    ),
    joins=True,
)
