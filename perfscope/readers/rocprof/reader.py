"""Reads what AMD's rocprof and rocprofv3 leave: CSV tables, JSON, and rocpd databases.

All three tell the same of a process. They go through the decoder of Kineto's profiles, like Nsight
Systems' tables.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from pathlib import Path

import numpy as np

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.readers.common.database import MAGIC
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.elsewhere import FileRead, read_files
from perfscope.readers.kineto.file import KinetoContents, Part
from perfscope.readers.kineto.made import Event, begun, contents_from, ended
from perfscope.readers.kineto.reader import Form, joined
from perfscope.readers.rocprof import chrome, database, document, tables
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

_TABLE = re.compile(r"(?:(.*?)_)??(?:kernel|memory_[a-z]+|[a-z]+_(?:api|memory))_trace\.csv")
"""rocprofv3's names of tables; what stands in front is the process id, or what `-o` says."""
_PID = re.compile(r"\d{1,9}")
PROCESS = "0"
MOST_ROWS = 3_000_000
"""Of a process in tables or a database: each becomes an object of Python."""
NO_COMMUNICATION = "rocprof tells what devices did, and not how long the ranks' hosts waited"
ROCPROF = Form(
    Format.ROCPROF,
    no_devices="the files hold no kernel: rocprofv3 --kernel-trace",
    no_steps="rocprof does not know steps",
)


class _Store(IntEnum):
    """How a file stores what rocprof saw; of a process that several tell of the first is read."""

    DATABASE = 0
    DOCUMENT = 1
    TABLES = 2


def _recognizes(place: Place) -> bool:
    if place.is_directory:
        return False
    if place.raw.startswith(MAGIC):
        return database.recognizes(place.path, place.raw)
    return any(form.recognizes(place.head) for form in (tables, document, chrome))


def _open(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these files tell of, a rank for each process.

    Raises:
        UnreadableInputError: none of them can be read.
    """
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        process = _TABLE.match(path.name)
        is_table = tables.recognizes(Place(path, is_directory=False).head)
        key = (path.parent, (process and process[1]) or "") if is_table else (path, "")
        groups.setdefault(key, []).append(path)
    firsts = [files[0] for files in groups.values()]
    read = _Process({files[0].absolute(): (pid, files) for (_, pid), files in groups.items()})
    found, notes = read_files(firsts, read, options)
    files, doubles = _once(found)
    trace = joined(files, notes + doubles, paths, options, ROCPROF)
    trace.not_recorded = {**trace.not_recorded, "communication": NO_COMMUNICATION}
    return trace


def _once(found: Sequence[FileRead]) -> tuple[list[KinetoContents], list[str]]:
    """Each process once: one run of rocprofv3 may store the same in several forms.

    Those of one file are different ones, also where hosts or containers number them alike.
    """
    kept: dict[Path, list[KinetoContents]] = defaultdict(list)
    notes = []
    for one in sorted(found, key=lambda one: one.more):
        for contents in one.processes:
            beside = kept[contents.path.absolute().parent]
            is_unnumbered = one.more is _Store.TABLES and not contents.part.pid
            same = next(
                (
                    other
                    for other in beside
                    if (is_unnumbered and other.part.pid) or _is_same(other, contents)
                ),
                None,
            )
            if same is None:
                beside.append(contents)
                continue
            notes.append(
                f"{contents.path.name} was left aside: {same.path.name} tells of the same process."
            )
    return [contents for beside in kept.values() for contents in beside], notes


def _is_same(one: KinetoContents, other: KinetoContents) -> bool:
    """Whether two files of a directory tell of one process; tables do not tell its host."""
    hosts = {one.part.host, other.part.host} - {""}
    is_numbered_alike = bool(one.part.pid) and one.part.pid == other.part.pid
    return is_numbered_alike and one.path != other.path and len(hosts) < 2


class _Process:
    """Reads a file, or all tables of a process, which lie beside its first one."""

    def __init__(self, groups: Mapping[Path, tuple[str, Sequence[Path]]]) -> None:
        self._groups = groups

    def __call__(self, first: Path) -> FileRead:
        """What is known of each process; where files are read elsewhere, the path is whole."""
        place = Place(first, is_directory=False)
        if place.raw.startswith(MAGIC):
            return FileRead(_of_database(first), [], _Store.DATABASE)
        if document.recognizes(place.head):
            return FileRead(_of_document(first), [], _Store.DOCUMENT)
        if chrome.recognizes(place.head):
            notes: list[str] = []
            events = chrome.events_in(first, notes)
            found = _contents(first, events, Part(), (), notes)
            return FileRead([found], [], _Store.DOCUMENT)
        pid, paths = self._groups[first.absolute()]
        tables_of_it = _of_tables(pid, [first.with_name(path.name) for path in paths])
        return FileRead([tables_of_it], [], _Store.TABLES)


def _of_tables(pid: str, paths: Sequence[Path]) -> KinetoContents:
    notes: list[str] = []
    events = (event for path in sorted(paths) for event in tables.events_in(path, notes))
    return _contents(paths[0], events, Part(pid=pid if _PID.fullmatch(pid) else ""), (), notes)


def _of_document(path: Path) -> list[KinetoContents]:
    found = []
    processes = document.processes_in(path)
    for process in processes:
        part = _part(process, len(processes))
        file = begun(_members(process.devices))
        rows, names = document.made_of(process)
        engine.take_rows(file, rows.view(np.uint8), names, document.CATEGORIES, PROCESS)
        contents = ended(path, file, part)
        if process.left_out:
            left_out = counted(process.left_out, "record")
            contents.notes.append(
                f"Process {process.pid}: left out {left_out} without a usable time."
            )
        found.append(contents)
    return found


def _part(process: document.Process | database.Process, processes: int) -> Part:
    """Which process of a file with so many it is."""
    return Part(
        process.pid if processes > 1 else "", None, process.host, process.pid, process.lived_ns
    )


def _members(devices: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What stands beside the events of a process."""
    return {"deviceProperties": devices} if devices else {}


def _of_database(path: Path) -> list[KinetoContents]:
    found = []
    with database.open_rocpd(path) as file:
        processes = database.processes_in(file)
        for process in processes:
            notes: list[str] = []
            part = _part(process, len(processes))
            events = database.events_of(process, notes)
            found.append(_contents(path, events, part, process.tables.devices, notes))
    return found


def _contents(
    path: Path,
    events: Iterable[Event],
    part: Part,
    devices: Sequence[Mapping[str, object]],
    notes: list[str],
) -> KinetoContents:
    kept = [{"pid": 0, **event} for event in islice(events, MOST_ROWS + 1)]
    if len(kept) > MOST_ROWS:
        raise UnreadableInputError(
            f"{path} and the files beside it have too many events to be read.",
            why=f"At most {MOST_ROWS:,} of a process are kept, as each takes memory.",
            action="Record a shorter part of the run.",
        )
    kept.sort(key=lambda event: int(event["ts"]))
    contents = contents_from(path, kept, _members(devices), part)
    contents.notes += notes
    return contents


READER = Reader(
    format=Format.ROCPROF,
    description="files of AMD's rocprof or rocprofv3: CSV (kernel_trace, ...), JSON, or a rocpd "
    "database",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        devices="yes",
        phases="markers (roctx), by their names",
        known_from="the facts of published tables, a database, JSON, traces of the old rocprof",
    ),
    joins=True,
)
