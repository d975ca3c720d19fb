"""OTF2 archives written and read with libotf2, through ctypes: any event, any id, any time."""

import ctypes
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _otf2
from _otf2.Config import conf

LIB: Any = conf.lib
prototypes: Any = importlib.import_module("_otf2.EvtReaderCallbacks")
UNDEFINED = 0xFFFFFFFF
_PLAIN: dict[int, Any] = {1: ctypes.c_uint8, 4: ctypes.c_uint32, 8: ctypes.c_uint64}
_NAMES = [
    name.removeprefix("EvtReaderCallbacks_Set").removesuffix("Callback")
    for name in prototypes.__all__
    if name.startswith("EvtReaderCallbacks_Set") and not name.endswith("UnknownCallback")
]
TYPE_OF = {name: number for number, name in enumerate(_NAMES, start=10)}
"""Event types by name; libotf2 numbers them in the order of its callbacks."""
SPECIAL = ("Metric", "ProgramBegin")


def fields_of(name: str) -> tuple[Any, ...]:
    """Plain C types of the fields of an event."""
    prototype = getattr(prototypes, f"_EvtReaderCallback_FP_{name}")
    return tuple(_PLAIN[ctypes.sizeof(kind)] for kind in prototype._argtypes_[5:])


@dataclass(frozen=True)
class Event:
    """One event as libotf2 hands it out; attributes are (id, type, bits)."""

    type: int
    time: int
    values: tuple[int, ...]
    attributes: tuple[tuple[int, int, int], ...] = ()


def _call(name: str, *arguments: tuple[Any, Any]) -> None:
    function = LIB[f"OTF2_{name}"]  # an object of its own: that of the package has other types
    function.argtypes = [kind for kind, _ in arguments]
    function.restype = ctypes.c_int
    code = function(*(value for _, value in arguments))
    assert code == 0, f"OTF2_{name}: error {code}"


@dataclass
class ArchiveWriter:
    """Writes an archive; ids of definitions are given in the order of the calls."""

    directory: Path
    name: str = "traces"
    resolution: int = 1_000_000_000
    offset: int = 0
    length: int = 1 << 40
    realtime_ns: int = 1_700_000_000_000_000_000
    chunk_bytes: int = 1 << 18
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._archive = _otf2.Archive_Open(
            str(self.directory),
            self.name,
            _otf2.FILEMODE_WRITE,
            self.chunk_bytes,
            self.chunk_bytes,
            _otf2.SUBSTRATE_POSIX,
            _otf2.COMPRESSION_NONE,
        )
        self._flush = _otf2.FlushCallbacks(pre_flush=lambda *_: _otf2.FLUSH, post_flush=None)
        _otf2.Archive_SetFlushCallbacks(self._archive, self._flush, None)
        _otf2.Archive_SetSerialCollectiveCallbacks(self._archive)
        _otf2.Archive_SetCreator(self._archive, "test")
        for key, value in self.properties.items():
            _otf2.Archive_SetProperty(self._archive, key, value, True)
        _otf2.Archive_OpenEvtFiles(self._archive)
        _otf2.Archive_OpenDefFiles(self._archive)
        self.definitions = _otf2.Archive_GetGlobalDefWriter(self._archive)
        _otf2.GlobalDefWriter_WriteClockProperties(
            self.definitions, self.resolution, self.offset, self.length, self.realtime_ns
        )
        self._events: dict[int, Any] = {}
        self._local: dict[int, Any] = {}
        self._strings: dict[str, int] = {}
        self._regions = self._comms = self._groups = self._metrics = 0
        self.string("")

    @property
    def anchor(self) -> Path:
        """The anchor file."""
        return self.directory / f"{self.name}.otf2"

    def string(self, text: str) -> int:
        """The id of a text."""
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            _otf2.GlobalDefWriter_WriteString(self.definitions, self._strings[text], text)
        return self._strings[text]

    def region(self, name: str, *, role: int = 1, paradigm: int = 1, number: int = -1) -> int:
        """The id of a new region."""
        identity = self._regions if number < 0 else number
        text = self.string(name)
        self._regions += 1
        _otf2.GlobalDefWriter_WriteRegion(
            self.definitions, identity, text, text, 0, role, paradigm, 0, 0, 0, 0
        )
        return identity

    def node(self, number: int, name: str, kind: str = "node", parent: int = UNDEFINED) -> None:
        """A node of the system tree."""
        name_id, kind_id = self.string(name), self.string(kind)
        _otf2.GlobalDefWriter_WriteSystemTreeNode(
            self.definitions, number, name_id, kind_id, parent
        )

    def process(
        self, number: int, name: str, *, kind: int = 1, node: int = 0, creator: int = UNDEFINED
    ) -> None:
        """A location group: a process, or with kind 2 an accelerator."""
        text = self.string(name)
        _otf2.GlobalDefWriter_WriteLocationGroup(
            self.definitions, number, text, kind, node, creator
        )

    def location(
        self, number: int, name: str, group: int, *, kind: int = 1, events: int = 0
    ) -> None:
        """A location: a thread (1), a stream of an accelerator (2), metrics (3)."""
        text = self.string(name)
        _otf2.GlobalDefWriter_WriteLocation(self.definitions, number, text, kind, events, group)

    def metric(
        self, name: str, kind: int, *, base: int = 0, exponent: int = 0, mode: int = 17
    ) -> int:
        """The id of a new class of one metric whose values are of a type; base 0 is 2, 1 is 10.

        Mode 17 is the value at a point of time.
        """
        number = self._metrics
        self._metrics += 1
        _call(
            "GlobalDefWriter_WriteMetricMember",
            (ctypes.c_void_p, ctypes.cast(self.definitions, ctypes.c_void_p)),
            (ctypes.c_uint32, number),
            (ctypes.c_uint32, self.string(name)),
            (ctypes.c_uint32, self.string("")),
            (ctypes.c_uint8, 3),  # of another kind than PAPI's, rusage's and the user's
            (ctypes.c_uint8, mode),
            (ctypes.c_uint8, kind),
            (ctypes.c_uint8, base),
            (ctypes.c_int64, exponent),
            (ctypes.c_uint32, self.string("unit")),
        )
        _call(
            "GlobalDefWriter_WriteMetricClass",
            (ctypes.c_void_p, ctypes.cast(self.definitions, ctypes.c_void_p)),
            (ctypes.c_uint32, number),
            (ctypes.c_uint8, 1),
            (ctypes.c_void_p, (ctypes.c_uint32 * 1)(number)),
            (ctypes.c_uint8, 0),
            (ctypes.c_uint8, 0),
        )
        return number

    def group(self, kind: int, members: Sequence[int], *, paradigm: int = 4) -> int:
        """The id of a new group."""
        self._groups += 1
        _otf2.GlobalDefWriter_WriteGroup(
            self.definitions, self._groups - 1, 0, kind, paradigm, 0, list(members)
        )
        return self._groups - 1

    def comm(self, name: str, group: int, parent: int = UNDEFINED) -> int:
        """The id of a new communicator."""
        self._comms += 1
        text = self.string(name)
        _otf2.GlobalDefWriter_WriteComm(self.definitions, self._comms - 1, text, group, parent, 0)
        return self._comms - 1

    def ranks(self, count: int) -> int:
        """A host, `count` ranks of one thread with ids 0, 1, ..., and MPI_COMM_WORLD, its id."""
        self.node(0, "host0")
        for number in range(count):
            self.process(number, f"MPI Rank {number}")
            self.location(number, "Master thread", number)
        self.group(4, range(count))
        return self.comm("MPI_COMM_WORLD", self.group(5, range(count)))

    def event(
        self,
        location: int,
        name: str,
        time: int,
        *values: Any,
        attributes: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """One event; of a metric the values are its id and (type, bits) pairs."""
        writer = self._writer(location)
        given = _otf2.AttributeList_New() if attributes else None
        for identity, kind, bits in attributes:
            _call(
                "AttributeList_AddAttribute",
                (ctypes.c_void_p, given),
                (ctypes.c_uint32, identity),
                (ctypes.c_uint8, kind),
                (ctypes.c_uint64, bits),
            )
        head = ((ctypes.c_void_p, writer), (ctypes.c_void_p, given), (ctypes.c_uint64, time))
        if name in SPECIAL:
            fields = _special(name, values)
        else:
            fields = list(zip(fields_of(name), values, strict=True))
        _call(f"EvtWriter_{name}", *head, *fields)

    def _writer(self, location: int) -> Any:
        if location not in self._events:
            self._events[location] = _otf2.Archive_GetEvtWriter(self._archive, location)
        return self._events[location]

    def local(self, location: int) -> Any:
        """The writer of the local definitions of a location."""
        if location not in self._local:
            self._local[location] = _otf2.Archive_GetDefWriter(self._archive, location)
        return self._local[location]

    def mapping(self, location: int, kind: int, pairs: Mapping[int, int], *, dense: bool) -> None:
        """A table of local ids as global ones; a dense one has the local ids 0, 1, ..."""
        mode = _otf2.ID_MAP_DENSE if dense else _otf2.ID_MAP_SPARSE
        table = _otf2.IdMap_Create(mode, max(1, len(pairs)))
        for local, known in pairs.items():
            _otf2.IdMap_AddIdPair(table, local, known)
        _otf2.DefWriter_WriteMappingTable(self.local(location), kind, table)
        _otf2.IdMap_Free(table)

    def clock(self, location: int, time: int, offset: int) -> None:
        """A measurement of the distance to the global clock."""
        _otf2.DefWriter_WriteClockOffset(self.local(location), time, offset, 0.0)

    def close(self) -> Path:
        """Ends the archive; returns its anchor file."""
        for writer in self._events.values():
            _otf2.Archive_CloseEvtWriter(self._archive, writer)
        for writer in self._local.values():
            _otf2.Archive_CloseDefWriter(self._archive, writer)
        _otf2.Archive_CloseEvtFiles(self._archive)
        _otf2.Archive_CloseDefFiles(self._archive)
        _otf2.Archive_CloseGlobalDefWriter(self._archive, self.definitions)
        _otf2.Archive_Close(self._archive)
        return self.anchor


def _special(name: str, values: Sequence[Any]) -> list[tuple[Any, Any]]:
    first, items = values
    count = len(items)
    if name == "ProgramBegin":
        texts = (ctypes.c_uint32 * count)(*items)
        return [(ctypes.c_uint32, first), (ctypes.c_uint32, count), (ctypes.c_void_p, texts)]
    kinds = (ctypes.c_uint8 * count)(*(kind for kind, _ in items))
    bits = (ctypes.c_uint64 * count)(*(value for _, value in items))
    return [
        (ctypes.c_uint32, first),
        (ctypes.c_uint8, count),
        (ctypes.c_void_p, kinds),
        (ctypes.c_void_p, bits),
    ]


def _attributes(handle: Any) -> tuple[tuple[int, int, int], ...]:
    number = LIB.OTF2_AttributeList_GetNumberOfElements
    number.argtypes, number.restype = [ctypes.c_void_p], ctypes.c_uint32
    found = []
    for index in range(number(handle)):
        identity, kind = ctypes.c_uint32(), ctypes.c_uint8()
        bits = ctypes.c_uint64()
        _call(
            "AttributeList_GetAttributeByIndex",
            (ctypes.c_void_p, handle),
            (ctypes.c_uint32, index),
            (ctypes.c_void_p, ctypes.addressof(identity)),
            (ctypes.c_void_p, ctypes.addressof(kind)),
            (ctypes.c_void_p, ctypes.addressof(bits)),
        )
        found.append((identity.value, kind.value, bits.value))
    return tuple(found)


def read_events(anchor: Path, location: int, *, mappings: bool, clock: bool) -> list[Event]:
    """All events of a location as libotf2 reads them."""
    found: list[Event] = []
    reader = _otf2.Reader_Open(str(anchor))
    _otf2.Reader_SetSerialCollectiveCallbacks(reader)
    definitions = _otf2.Reader_GetGlobalDefReader(reader)
    callbacks = _otf2.GlobalDefReaderCallbacks_New()
    _otf2.Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, None)
    _otf2.Reader_ReadAllGlobalDefinitions(reader, definitions)
    _otf2.Reader_SelectLocation(reader, location)
    has_local = _otf2.Reader_OpenDefFiles(reader) is not False
    _otf2.Reader_OpenEvtFiles(reader)
    events = _otf2.Reader_GetEvtReader(reader, location)
    if has_local and (anchor.with_suffix("") / f"{location}.def").exists():
        local = _otf2.Reader_GetDefReader(reader, location)
        _otf2.Reader_ReadAllLocalDefinitions(reader, local)
        _otf2.Reader_CloseDefReader(reader, local)
    _otf2.Reader_CloseDefFiles(reader)
    handle, kept = _callbacks(found)
    _call(
        "EvtReader_SetCallbacks",
        (ctypes.c_void_p, ctypes.cast(events, ctypes.c_void_p)),
        (ctypes.c_void_p, handle),
        (ctypes.c_void_p, None),
    )
    _otf2.EvtReader_ApplyMappingTables(events, int(mappings))
    _otf2.EvtReader_ApplyClockOffsets(events, int(clock))
    _otf2.Reader_ReadAllLocalEvents(reader, events)
    _otf2.Reader_CloseEvtReader(reader, events)
    _otf2.Reader_CloseEvtFiles(reader)
    _otf2.Reader_Close(reader)
    assert kept
    return found


def _callbacks(found: list[Event]) -> tuple[Any, list[Any]]:
    """Callbacks of libotf2 that collect every event."""
    new = LIB.OTF2_EvtReaderCallbacks_New
    new.restype = ctypes.c_void_p
    handle, kept = new(), []
    for name, number in TYPE_OF.items():
        kinds: Sequence[Any] = fields_of(name) if name not in SPECIAL else _SPECIAL_KINDS[name]

        def seen(
            _location: int,
            time: int,
            _position: int,
            _user: Any,
            attributes: Any,
            *values: Any,
            name: str = name,
            number: int = number,
        ) -> int:
            found.append(Event(number, time, _flat(name, values), _attributes(attributes)))
            return 0

        head = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)
        callback = ctypes.CFUNCTYPE(ctypes.c_int, *head, *kinds)(seen)
        kept.append(callback)
        _call(
            f"EvtReaderCallbacks_Set{name}Callback",
            (ctypes.c_void_p, handle),
            (type(callback), callback),
        )
    return handle, kept


_SPECIAL_KINDS = {
    "Metric": (
        ctypes.c_uint32,
        ctypes.c_uint8,
        ctypes.POINTER(ctypes.c_uint8),
        ctypes.POINTER(ctypes.c_uint64),
    ),
    "ProgramBegin": (ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)),
}


def _flat(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    if name == "Metric":
        metric, count, kinds, bits = values
        pairs = [(kinds[i], bits[i]) for i in range(count)]
        return (metric, count, *(item for pair in pairs for item in pair))
    if name == "ProgramBegin":
        program, count, texts = values
        return (program, count, *(texts[i] for i in range(count)))
    return tuple(values)
