"""An OTF2 archive while it is written: strings, definitions and one writer a location.

The package `otf2` is used through its functions for the C library: its classes make several
Python objects an event and put the time of the export into the archive.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import _otf2

from perfscope.export.target import clean
from perfscope.structures import dataclass

ARCHIVE_NAME = "traces"
NANOSECONDS = 1_000_000_000
NO_REFERENCE = 0xFFFFFFFF
EVENT_CHUNK_BYTES, DEFINITION_CHUNK_BYTES = 1 << 20, 1 << 22


@dataclass
class Location:
    """A thread, a stream or a series of counters; `events` counts what was written."""

    number: int
    name: str
    kind: Any
    group: int
    events: int = 0
    writer: Any = None
    is_closed: bool = False


@dataclass(frozen=True)
class Group:
    """A process, or with a creator an accelerator that this group made."""

    name: str
    host: int  # index in Definitions.hosts
    creator: int | None = None


@dataclass
class Definitions:
    """What the archive's global definitions will be, in the order of their numbers."""

    hosts: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    locations: list[Location] = field(default_factory=list)
    regions: list[tuple[str, str, Any, Any]] = field(default_factory=list)  # name, text, role, ...
    communicators: list[tuple[str, Sequence[int], int]] = field(default_factory=list)
    members: list[tuple[str, str, Any, Any]] = field(default_factory=list)  # name, unit, mode, type
    metrics: list[tuple[int, ...] | tuple[int, Location]] = field(default_factory=list)
    """A class of these members, or the instance of a class on a location."""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    world: Sequence[int] = ()  # the location of each rank


class Archive:
    """Writes an archive; times are nanoseconds of one clock, never negative."""

    def __init__(self, directory: Path, *, creator: str, description: str) -> None:
        self.definitions = Definitions()
        self.first_ns: int | None = None
        self.last_ns = 0
        self._strings: dict[str, int] = {"": 0}
        self._told: list[str] = []
        self._handle = _otf2.Archive_Open(
            str(directory),
            ARCHIVE_NAME,
            _otf2.FileMode.WRITE,
            EVENT_CHUNK_BYTES,
            DEFINITION_CHUNK_BYTES,
            _otf2.FileSubstrate.POSIX,
            _otf2.Compression.NONE,
        )
        self._callbacks = _otf2.FlushCallbacks(
            pre_flush=lambda *_: _otf2.FlushType.FLUSH, post_flush=None
        )  # the library keeps a pointer to it
        _otf2.Archive_SetFlushCallbacks(self._handle, self._callbacks, None)
        _otf2.Archive_SetSerialCollectiveCallbacks(self._handle)
        _otf2.Archive_SetCreator(self._handle, creator)
        _otf2.Archive_SetDescription(self._handle, description)
        _otf2.Archive_OpenDefFiles(self._handle)
        _otf2.Archive_OpenEvtFiles(self._handle)

    def location(self, name: str, kind: Any, group: int) -> Location:
        """A new location of a location group."""
        made = Location(len(self.definitions.locations), name, kind, group)
        self.definitions.locations.append(made)
        return made

    def open_location(self, location: Location) -> None:
        """Makes a location ready for events."""
        location.writer = _otf2.Archive_GetEvtWriter(self._handle, location.number)

    def close_location(self, location: Location) -> None:
        """Writes what is left of a location's events; readers want files of the empty ones too."""
        if location.writer is None:
            self.open_location(location)
        definitions = _otf2.Archive_GetDefWriter(self._handle, location.number)
        _otf2.Archive_CloseDefWriter(self._handle, definitions)
        _otf2.Archive_CloseEvtWriter(self._handle, location.writer)
        location.writer, location.is_closed = None, True

    def text(self, text: str) -> int:
        """The number of a text that events refer to."""
        word = clean(text)
        if word not in self._strings:
            self._strings[word] = len(self._strings)
            self._told.append(word)
        return self._strings[word]

    def tell_time(self, at_ns: int) -> None:
        """Takes notice of the time of an event."""
        if self.first_ns is None or at_ns < self.first_ns:
            self.first_ns = at_ns
        self.last_ns = max(self.last_ns, at_ns)

    def close(self, *, is_wall_clock: bool) -> None:
        """Writes the definitions and closes the archive."""
        for location in self.definitions.locations:
            if not location.is_closed:
                self.close_location(location)
        _otf2.Archive_CloseEvtFiles(self._handle)
        _otf2.Archive_CloseDefFiles(self._handle)
        writer = _otf2.Archive_GetGlobalDefWriter(self._handle)
        first = self.first_ns or 0
        _otf2.GlobalDefWriter_WriteClockProperties(
            writer,
            NANOSECONDS,
            first,
            max(self.last_ns - first, 0),
            first if is_wall_clock else _otf2.UNDEFINED_TIMESTAMP.value,
        )
        for word in ("", *self._told):
            _otf2.GlobalDefWriter_WriteString(writer, self._strings[word], word)
        self._write_places(writer)
        self._write_regions(writer)
        self._write_communicators(writer)
        self._write_metrics(writer)
        _otf2.Archive_CloseGlobalDefWriter(self._handle, writer)
        self.abandon()

    def abandon(self) -> None:
        """Closes the archive as it is."""
        if self._handle is not None:
            _otf2.Archive_Close(self._handle)
            self._handle = None

    def _string(self, writer: Any, text: str) -> int:
        word = clean(text)
        if word not in self._strings:
            self._strings[word] = len(self._strings)
            _otf2.GlobalDefWriter_WriteString(writer, self._strings[word], word)
        return self._strings[word]

    def _write_places(self, writer: Any) -> None:
        known = self.definitions
        for number, (name, meaning) in enumerate(known.attributes):
            label, meant = self._string(writer, name), self._string(writer, meaning)
            _otf2.GlobalDefWriter_WriteAttribute(writer, number, label, meant, _otf2.Type.INT64)
        machine, node = self._string(writer, "machine"), self._string(writer, "node")
        _otf2.GlobalDefWriter_WriteSystemTreeNode(writer, 0, machine, machine, NO_REFERENCE)
        for number, host in enumerate(known.hosts):
            label = self._string(writer, host)
            _otf2.GlobalDefWriter_WriteSystemTreeNode(writer, number + 1, label, node, 0)
        kinds = _otf2.LocationGroupType
        for number, group in enumerate(known.groups):
            is_process = group.creator is None
            _otf2.GlobalDefWriter_WriteLocationGroup(
                writer,
                number,
                self._string(writer, group.name),
                kinds.PROCESS if is_process else kinds.ACCELERATOR,
                group.host + 1,
                NO_REFERENCE if is_process else group.creator,
            )
        for place in known.locations:
            label = self._string(writer, place.name)
            _otf2.GlobalDefWriter_WriteLocation(
                writer, place.number, label, place.kind, place.events, place.group
            )

    def _write_regions(self, writer: Any) -> None:
        for number, (name, text, role, paradigm) in enumerate(self.definitions.regions):
            label, description = self._string(writer, name), self._string(writer, text)
            _otf2.GlobalDefWriter_WriteRegion(
                writer,
                number,
                label,
                label,
                description,
                role,
                paradigm,
                _otf2.RegionFlag.NONE,
                NO_REFERENCE,
                0,
                0,
            )

    def _write_communicators(self, writer: Any) -> None:
        known = self.definitions
        mpi, plain = _otf2.Paradigm.MPI, _otf2.GroupFlag.NONE
        _otf2.GlobalDefWriter_WriteGroup(
            writer, 0, 0, _otf2.GroupType.COMM_LOCATIONS, mpi, plain, list(known.world)
        )
        for number, (name, ranks, parent) in enumerate(known.communicators):
            label = self._string(writer, name)
            _otf2.GlobalDefWriter_WriteGroup(
                writer, number + 1, label, _otf2.GroupType.COMM_GROUP, mpi, plain, list(ranks)
            )
            above = parent if 0 <= parent < number else NO_REFERENCE
            _otf2.GlobalDefWriter_WriteComm(
                writer, number, label, number + 1, above, _otf2.CommFlag.NONE
            )

    def _write_metrics(self, writer: Any) -> None:
        known = self.definitions
        for number, (name, unit, mode, kind) in enumerate(known.members):
            label, unit_name = self._string(writer, name), self._string(writer, unit)
            _otf2.GlobalDefWriter_WriteMetricMember(
                writer,
                number,
                label,
                0,
                _otf2.MetricType.OTHER,
                mode,
                kind,
                _otf2.Base.DECIMAL,
                0,
                unit_name,
            )
        for number, metric in enumerate(known.metrics):
            location = metric[-1]
            if isinstance(location, Location):
                _otf2.GlobalDefWriter_WriteMetricInstance(
                    writer,
                    number,
                    metric[0],
                    location.number,
                    _otf2.MetricScope.LOCATION_GROUP,
                    location.group,
                )
                continue
            _otf2.GlobalDefWriter_WriteMetricClass(
                writer,
                number,
                list(metric),
                _otf2.MetricOccurrence.ASYNCHRONOUS,
                _otf2.RecorderKind.ABSTRACT,
            )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,  # a va_list, which nobody reads
)


class Failures:
    """Listens to the errors of the library, which does not return those of a full disk."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._callback = _Callback(self._take)
        self._register = _library()["OTF2_Error_RegisterCallback"]
        self._register.restype = ctypes.c_void_p
        self._before = self._register(self._callback, None)

    def _take(self, *facts: Any) -> int:
        code = int(facts[4])
        if code > 0 and self._first is None:  # warnings are below zero
            self._first = code
        return code

    def stop(self) -> None:
        """Listens no more, and raises the first error that there was."""
        self._register(ctypes.c_void_p(self._before), None)
        if self._first is not None:
            raise_error(self._first)


def _library() -> ctypes.CDLL:
    """The C library, with functions of our own: no wrapper of the package changes them."""
    return ctypes.CDLL(_otf2.Config.conf.lib._name)


def direct(name: str, *kinds: Any) -> Callable[..., int]:
    """A function of the C library that is called once an event, without the package's wrapper.

    It returns 0, or the number of an error.
    """
    function = _library()[f"OTF2_EvtWriter_{name}"]
    function.argtypes = [
        ctypes.POINTER(_otf2.EvtWriter),
        ctypes.POINTER(_otf2.AttributeList),
        ctypes.c_uint64,
        *kinds,
    ]
    function.restype = ctypes.c_int
    return function


def raise_error(code: int) -> None:
    """Raises the library's error of a number."""
    raise _otf2.Error(_otf2.ErrorCode(code))
