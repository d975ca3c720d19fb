"""rocpd, the SQLite databases that rocprofv3 writes unless it is told otherwise.

A table of each kind for each process that was written into the file: `rocpd_region_UUID`. Source:
rocpd's schema, version 3.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.files import parse_json
from perfscope.readers.common.database import Database
from perfscope.readers.kineto.made import Event
from perfscope.readers.rocprof import records
from perfscope.structures import dataclass
from perfscope.units import counted

WHAT = "a database of rocprofv3 (rocpd)"
ACTION = "Copy it again, or record again: rocprofv3 --runtime-trace"
SIGN = b"rocpd_info_process"
_PROCESS = re.compile(r"rocpd_info_process(\w*)")
TIMES = ("start", "end")
MOST_PROCESSES = 4096


def open_rocpd(path: Path) -> Database:
    """The database, to be read and never written.

    Raises:
        UnreadableInputError: it is no sound database.
    """
    return Database(path, what=WHAT, action=ACTION)


def recognizes(path: Path, head: bytes) -> bool:
    """Whether an SQLite database is such a one."""
    try:
        with open_rocpd(path) as database:
            return bool(_suffixes(database))
    except UnreadableInputError:
        return SIGN in head


def _suffixes(database: Database) -> list[str]:
    """How tables of each process that the file holds end."""
    return sorted(found[1] for name in database.tables if (found := _PROCESS.fullmatch(name)))


@dataclass(frozen=True)
class Tables:
    """Tables that end alike; mostly they are those of one process."""

    database: Database  # the file
    suffix: str  # how they end

    def rows(
        self, table: str, columns: tuple[str, ...], whole: tuple[str, ...] = (), where: str = "1"
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of one of them, as `Database.rows` gives them."""
        return self.database.rows(f"rocpd_{table}{self.suffix}", columns, whole, where)

    @cached_property
    def strings(self) -> Mapping[int, str]:
        """Texts by number."""
        return self.database.strings(f"rocpd_string{self.suffix}", "string")

    @cached_property
    def events(self) -> Mapping[int, tuple[int | None, int | None, str]]:
        """Of each event its category, the number of the call it came from, and its message."""
        columns = ("id", "category_id", "stack_id", "extdata")
        return {
            number: (category, call, _message(more))
            for number, category, call, more in self.rows("event", columns, ("id",))
        }

    @cached_property
    def kernels(self) -> Mapping[int, object]:
        """Names of kernels by number."""
        return dict(self.rows("info_kernel_symbol", ("id", "display_name"), ("id",)))

    @cached_property
    def devices(self) -> list[dict[str, Any]]:
        """The GPUs, by their numbers among all agents, as tables of rocprofv3 have them."""
        columns = ("id", "type", "absolute_index", "product_name", "name")
        return [
            {
                "id": number if index is None else index,
                "name": product or name or "",
                "agent": number,
            }
            for number, kind, index, product, name in self.rows("info_agent", columns, ("id",))
            if kind == "GPU"
        ]


@dataclass(frozen=True)
class Process:
    """What one process left."""

    tables: Tables  # that tell of it
    number: int  # of the process in them
    pid: str  # as the system numbers it, "" unknown
    host: str  # where it ran, "" unknown
    lived_ns: tuple[int, int] | None  # from when to when

    def rows(self, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """Its rows of one of the tables."""
        return self.tables.rows(table, columns, ("pid",), f'"pid" = {self.number:d}')


def processes_in(database: Database) -> list[Process]:
    """What a file holds of each process.

    Raises:
        UnreadableInputError: it is damaged, holds none, or more than a run has on a node.
    """
    found: list[Process] = []
    for tables in (Tables(database, suffix) for suffix in _suffixes(database)):
        hosts = dict(tables.rows("info_node", ("id", "hostname"), ("id",)))
        columns = ("id", "pid", "nid", "start", "end")
        for number, pid, node, *lived in tables.rows("info_process", columns, ("id",)):
            host = hosts.get(node)
            shown = str(pid) if isinstance(pid, int) else ""
            named = host if isinstance(host, str) else ""
            found.append(Process(tables, number, shown, named, records.span(*lived)))
            if len(found) > MOST_PROCESSES:
                raise UnreadableInputError(
                    f"{database.path} holds too many processes.",
                    why=f"At most {MOST_PROCESSES:,} are read, each from all rows of its tables.",
                    action=ACTION,
                )
    if not found:
        raise UnreadableInputError(
            f"{database.path} holds no process.", why="Its tables are empty.", action=ACTION
        )
    return found


def events_of(process: Process, notes: list[str]) -> Iterator[Event]:
    """What a process and its devices did; rows without a time are counted."""
    left_out = 0
    for make in (_kernels, _copies, _regions):
        for event in make(process):
            if event is None:
                left_out += 1
            else:
                yield event
    if left_out:
        notes.append(
            f"Process {process.pid}: left out {counted(left_out, 'row')} without a usable time."
        )


def _kernels(process: Process) -> Iterator[Event | None]:
    devices = {device["agent"]: device["id"] for device in process.tables.devices}
    columns = (*TIMES, "agent_id", "queue_id", "kernel_id", "event_id")
    for begin, end, agent, queue, kernel, event in process.rows("kernel_dispatch", columns):
        when = records.span(begin, end)
        name = process.tables.kernels.get(kernel)
        shown = name if isinstance(name, str) and name else "unknown"
        yield when and records.kernel(
            shown, when, devices.get(agent, 0), _whole(queue), _call(process, event)
        )


def _copies(process: Process) -> Iterator[Event | None]:
    devices = {device["agent"]: device["id"] for device in process.tables.devices}
    columns = (*TIMES, "name_id", "src_agent_id", "dst_agent_id", "size", "event_id")
    for begin, end, name, source, target, size, event in process.rows("memory_copy", columns):
        when = records.span(begin, end)
        direction = process.tables.strings.get(name, "unknown")
        agent = source if records.is_to_host(direction) else target
        yield when and records.copy(
            direction, when, devices.get(agent, 0), _call(process, event), size
        )


def _regions(process: Process) -> Iterator[Event | None]:
    strings = process.tables.strings
    for begin, end, thread, name, event in process.rows(
        "region", (*TIMES, "tid", "name_id", "event_id")
    ):
        when = records.span(begin, end)
        category, call, message = process.tables.events.get(event, (None, None, ""))
        kind = strings.get(category, "") if category is not None else ""
        called = message or strings.get(name, "unknown")
        yield when and records.call(kind, called, when, _whole(thread), call)


def _call(process: Process, event: object) -> int | None:
    found = process.tables.events.get(event) if isinstance(event, int) else None
    return found[1] if found else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _message(more: object) -> str:
    """What the program called a range, in the JSON of its event."""
    if not isinstance(more, str) or '"message"' not in more:
        return ""
    try:
        value = parse_json(more.encode(), [])
    except ValueError:
        return ""
    found = value.get("message") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
