"""Reads Perfetto's own traces: track events, as the Perfetto SDK and perfscope's export write them.

They go through the decoder of Kineto's profiles, like Nsight Systems' tables.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
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
from perfscope.readers.perfetto.packets import (
    MOST_EVENTS,
    Event,
    Happened,
    Packets,
    TooManyError,
    Track,
)
from perfscope.readers.perfetto.rocprof import as_kineto
from perfscope.trace.model import Format, Trace

PACKET_TAG, FACTS = 0x0A, "perfscope.export"
KNOWN = {6, 8, 10, 11, 12, 13, 33, 35, 36, 41, 42, 56, 58, 59, 60, 87}
"""Fields that the first packet of a trace may begin with (trace_packet.proto)."""
ACTION = "Copy the file again, or record again."
NO_COMMUNICATION = "track events of other programs do not tell when ranks communicate"
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
    trace = joined(files, notes, paths, options, PERFETTO)
    if not trace.environment["is_export"]:
        trace.not_recorded = {"communication": NO_COMMUNICATION, **trace.not_recorded}
    return trace


def _contents(path: Path) -> KinetoContents:
    cut: list[str] = []
    content = texts.content_of(path, cut.append, ACTION)
    try:
        trace = Packets(content)
        happened = sorted(trace.events(), key=lambda one: one.moment)
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
    facts = next((dict(one.facts).get("facts") for one in happened if one.name == FACTS), None)
    members = _members(facts)
    shift = 1 if members else 0  # an export numbers ranks from 1 on
    happened = [one for one in happened if one.name != FACTS]
    events = chain(_names(trace, happened, shift), _events(trace, happened, shift))
    return contents_from(path, events, members, Process())


def _members(facts: object) -> dict[str, Any]:
    """What an export of perfscope has beside its events."""
    try:
        found = json.loads(facts) if isinstance(facts, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names(trace: Packets, happened: Sequence[Happened], shift: int) -> Iterator[Event]:
    """What processes and threads are called, in the order in which they are described."""
    tracks = dict.fromkeys(one.track for one in happened)
    used = {(pid - shift, tid) for pid, tid in map(trace.place, tracks)}
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


def _events(trace: Packets, happened: Sequence[Happened], shift: int) -> Iterator[Event]:
    """Slices, arrows, instants and counters; what does not end lasts to the last event."""
    waiting: dict[int, list[Event]] = {}
    last = 0
    for one in happened:
        at = one.moment + trace.offset_ns
        last = max(last, at)
        pid, tid = trace.place(one.track)
        base: Event = {"pid": pid - shift, "tid": tid, "ts": at}
        if one.kind == packets.END:
            stack = waiting.get(one.track)
            yield from [_ended(stack.pop(), at)] if stack else []
        elif one.kind == packets.COUNTER:
            yield from _counter(trace.tracks[one.track], base, one.value)
        else:
            category, facts = as_kineto(one.category, one.name, dict(one.facts))
            base |= {"name": one.name, "cat": category}
            yield from (_arrow(base, *arrow) for arrow in one.arrows)
            base["args"] = facts
            if one.kind == packets.BEGIN:
                waiting.setdefault(one.track, []).append({**base, "ph": "X"})
            elif one.kind == packets.INSTANT and not one.arrows:
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
        devices="slices of the categories that PyTorch's profiler or rocprofv3 has",
        counters="yes",
        clock="where it has a snapshot of the wall clock",
    ),
    joins=True,
)
