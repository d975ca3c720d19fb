"""Packets of a Perfetto trace as events of the Chrome format.

The numbers of fields are those of protos/perfetto/trace. What is read are track events: slices,
instants with flows, counters; everything else that such a trace may hold (scheduling, memory of
Android, ...) is passed over.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from sys import intern
from typing import Any, NamedTuple

from perfscope.readers.common.protobuf import Part
from perfscope.structures import dataclass

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
FIRST_OF_SEQUENCE = 64
"""Clocks from here on belong to one sequence of packets."""
FIRST_LANE = 1 << 40
MOST_DEPTH = 64
MOST_EVENTS = 3_000_000
"""Of a file: each becomes an object of Python."""
Event = dict[str, Any]
Fields = dict[int, list[int | Part]]
INTERNED = {1: "category", 2: "name", 3: "annotation", 29: "value"}


class Happened(NamedTuple):
    """A track event, as small as it can be kept: there may be millions.

    Attributes:
        moment: when, in ns of the trace's clock.
        kind: BEGIN, END, INSTANT or COUNTER.
        track: its uuid.
        name: of what begins or happens.
        category: of the same.
        facts: its annotations.
        arrows: "s" or "f" and the number of each flow.
        value: of a counter.
    """

    moment: int
    kind: int
    track: int
    name: str = ""
    category: str = ""
    facts: tuple[tuple[str, Any], ...] = ()
    arrows: tuple[tuple[str, int], ...] = ()
    value: float | None = None


class TooManyError(ValueError):
    """What has more events than can be kept."""


@dataclass
class Track:
    """Where events stand: a thread, a process, a counter, or something below one of them."""

    name: str = ""
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    process_name: str = ""
    labels: list[str] = field(default_factory=list)
    unit: str | None = None  # of a counter


@dataclass
class Packets:
    """A whole trace: its tracks, what its clocks are, and its packets in order."""

    data: bytes
    tracks: dict[int, Track] = field(default_factory=lambda: defaultdict(Track))
    offset_ns: int = 0
    """From the clock of the trace to the wall clock, 0 unknown."""
    _count: int = 0
    _lanes: dict[int, int] = field(default_factory=dict)
    _words: dict[int, dict[tuple[str, int], str]] = field(default_factory=dict)
    _defaults: dict[int, int] = field(default_factory=dict)
    _clocks: dict[tuple[int, int], tuple[int | None, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Finds the tracks, which may be described behind their events."""
        for packet in self._packets():
            for number, value in packet.fields():
                if number == 60 and isinstance(value, Part):
                    self._describe(value)
                elif number == 6 and isinstance(value, Part):
                    self._take_offset(value)

    def _packets(self) -> Iterator[Part]:
        for number, value in Part(memoryview(self.data), 0).fields():
            if number == 1 and isinstance(value, Part):
                yield value

    def _describe(self, part: Part) -> None:
        told = _members(part)
        track = self.tracks[_int(told, 1) or 0]
        track.name = _text(told, 2) or track.name
        track.parent = _int(told, 5) if 5 in told else track.parent
        for kind in (3, 4):
            for inner in _parts(told, kind):
                self._own(track, _members(inner), is_thread=kind == 4)
        for inner in _parts(told, 8):
            track.unit = _text(_members(inner), 6)

    @staticmethod
    def _own(track: Track, told: Fields, *, is_thread: bool) -> None:
        track.pid = _int(told, 1)
        if is_thread:
            track.tid = _int(told, 2)
            track.name = _text(told, 5) or track.name
            return
        track.process_name = _text(told, 6) or track.process_name
        track.labels += [one.text for one in _parts(told, 8)]

    def _take_offset(self, part: Part) -> None:
        found = {}
        for clock in _parts(_members(part), 1):
            told = _members(clock)
            found[_int(told, 1)] = _int(told, 2) or 0
        base = next((found[one] for one in (BOOTTIME, MONOTONIC) if one in found), None)
        if base is not None and REALTIME in found and not self.offset_ns:
            self.offset_ns = found[REALTIME] - base

    def place(self, uuid: int) -> tuple[int, int]:
        """Process and thread of a track; what is no thread gets a number of its own."""
        track, at = self.tracks[uuid], uuid
        own_tid = track.tid
        for _ in range(MOST_DEPTH):
            if track.pid is not None or track.parent is None:
                break
            at = track.parent
            track = self.tracks[at]
        if own_tid is None:
            own_tid = self._lanes.setdefault(uuid, FIRST_LANE + len(self._lanes))
        return track.pid or 0, own_tid

    def events(self) -> Iterator[Happened]:
        """Each track event, in the order of the file."""
        for packet in self._packets():
            told = _members(packet)
            sequence = _int(told, 10) or 0
            self._keep(sequence, told)
            moment = self._moment(sequence, told)
            for part in _parts(told, 11):
                if moment is not None:
                    self._count += 1
                    if self._count > MOST_EVENTS:
                        raise TooManyError
                    yield self._happened(moment, _members(part), sequence)

    def _happened(self, moment: int, fields: Fields, sequence: int) -> Happened:
        kind, track = _int(fields, 9) or 0, track_of(fields)
        if kind == END:
            return Happened(moment, kind, track)
        if kind == COUNTER:
            return Happened(moment, kind, track, value=counter_value(fields))
        name = self.word(fields, 23, "name", sequence)
        category = self.word(fields, 22, "category", sequence)
        facts = tuple((intern(key), v) for key, v in self.annotations(fields, sequence).items())
        arrows = tuple(flows(fields))
        return Happened(moment, kind, track, intern(name), intern(category), facts, arrows)

    def _keep(self, sequence: int, told: Fields) -> None:
        """What a packet says of those that follow it on its sequence."""
        if (_int(told, 13) or 0) & 1:  # what was said before is void
            self._words.pop(sequence, None)
        for part in _parts(told, 12):
            self._intern(sequence, part)
        for part in _parts(told, 59):
            self._defaults[sequence] = _int(_members(part), 58) or 0
        for part in _parts(told, 6):
            self._set_clocks(sequence, part)

    def _intern(self, sequence: int, part: Part) -> None:
        words = self._words.setdefault(sequence, {})
        for number, value in part.fields():
            if number in INTERNED and isinstance(value, Part):
                told = _members(value)
                words[INTERNED[number], _int(told, 1) or 0] = _text(told, 2)

    def _set_clocks(self, sequence: int, part: Part) -> None:
        """Clocks of a sequence: where they stand, in what, and the trace's clock at that moment."""
        told = [_members(one) for one in _parts(_members(part), 1)]
        base = next((_int(one, 2) for one in told if _int(one, 1) == BOOTTIME), None)
        for one in told:
            clock = _int(one, 1) or 0
            if clock >= FIRST_OF_SEQUENCE and base is not None:
                scale = _int(one, 4) or 1
                value = _int(one, 2) or 0
                start = value if _int(one, 3) else None
                self._clocks[sequence, clock] = (start, scale, base - value * scale)

    def _moment(self, sequence: int, told: Fields) -> int | None:
        value = _int(told, 8)
        if value is None:
            return None
        clock = _int(told, 58) or self._defaults.get(sequence, 0)
        known = self._clocks.get((sequence, clock))
        if known is None:
            return value
        start, scale, base = known
        if start is not None:  # each time counts from the one before
            value += start
            self._clocks[sequence, clock] = (value, scale, base)
        return base + value * scale

    def word(self, fields: Fields, plain: int, kind: str, by: int) -> str:
        """A text of an event, written out or by its number; `by` is the sequence."""
        if text := _text(fields, plain):
            return text
        number = _int(fields, 10 if kind == "name" else 3 if kind == "category" else 1)
        return self._words.get(by, {}).get((kind, number), "") if number is not None else ""

    def annotations(self, fields: Fields, sequence: int) -> dict[str, Any]:
        """Facts of an event that are numbers, truths or texts."""
        found: dict[str, Any] = {}
        for part in _parts(fields, 4):
            told = _members(part)
            name = self.word(told, 10, "annotation", sequence)
            if (value := self._value(told, sequence)) is not None and name:
                found[name] = value
        return found

    def _value(self, told: Fields, sequence: int) -> Any:
        if 2 in told:
            return bool(_int(told, 2))
        if 3 in told or 4 in told:
            return _int(told, 3) if 3 in told else _signed(_int(told, 4) or 0)
        if 5 in told:
            return _double(told[5][0])
        if 17 in told:
            return self._words.get(sequence, {}).get(("value", _int(told, 17) or 0))
        return _text(told, 6) if 6 in told else None


def _members(part: Part) -> Fields:
    found: Fields = {}
    for number, value in part.fields():
        found.setdefault(number, []).append(value)
    return found


def _parts(told: Fields, number: int) -> list[Part]:
    return [one for one in told.get(number, []) if isinstance(one, Part)]


def _int(told: Fields, number: int) -> int | None:
    value = told[number][-1] if number in told else None
    return value if isinstance(value, int) else None


def _text(told: Fields, number: int) -> str:
    value = told[number][-1] if number in told else None
    return value.text if isinstance(value, Part) else ""


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _double(value: int | Part) -> float | None:
    if not isinstance(value, Part) or len(value.data) != 8:
        return None
    return float(struct.unpack("<d", value.data)[0])


def counter_value(fields: Fields) -> float | int | None:
    """What a counter stands at."""
    if 44 in fields:
        return _double(fields[44][-1])
    value = _int(fields, 30)
    return None if value is None else _signed(value)


def flows(fields: Fields) -> Iterator[tuple[str, int]]:
    """The arrows that begin or end at an event: "s" or "f" and their numbers."""
    for number, phase in ((47, "s"), (48, "f")):
        for value in fields.get(number, []):
            if isinstance(value, Part) and len(value.data) == 8:
                yield phase, int(struct.unpack("<Q", value.data)[0])


def track_of(fields: Fields) -> int:
    """The track of an event, 0 where none is told."""
    return _int(fields, 11) or 0
