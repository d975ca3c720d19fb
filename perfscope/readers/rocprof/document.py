"""The JSON of rocprofv3 (`--output-format json`): one object a process, records by kind.

Records name kernels, agents and operations by number; `strings` beside them has the operations.
Times are ns of the machine's monotonic clock. Source: "JSON output schema" in its manual.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.kineto.made import Event
from perfscope.readers.rocprof import records
from perfscope.structures import dataclass
from perfscope.units import counted

WHAT = "a profile of rocprofv3"
ACTION = (
    "Copy it again, or record again, large runs as tables: "
    "rocprofv3 --runtime-trace --output-format csv"
)
KEY = "rocprofiler-sdk-tool"
CALLS = ("hip_api", "hsa_api", "marker_api", "rccl_api")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """One process: who it was, its devices, and what is known of it by number."""

    pid: str
    host: str
    devices: list[dict[str, Any]]
    record: Row


def recognizes(head: bytes) -> bool:
    """Whether a file begins like this JSON."""
    return head.lstrip()[:1] == b"{" and f'"{KEY}"'.encode() in head[:256]


def processes_in(path: Path) -> list[Told]:
    """What a file holds of each process.

    Raises:
        UnreadableInputError: it is no such JSON, or is too large.
    """
    document = texts.mapping(texts.read_document(path, WHAT, ACTION))
    found = document.get(KEY)
    rows = texts.rows(found if isinstance(found, list) else [found])
    if not rows:
        why = f"`{KEY}` holds no process."
        raise UnreadableInputError(f"{path} holds no profile.", why=why, action=ACTION)
    return [_process(row) for row in rows]


def _process(record: Row) -> Told:
    about = texts.mapping(record.get("metadata"))
    pid = texts.whole(about, "pid")
    devices = [
        {"id": _agent_number(agent), "name": texts.text(agent, "product_name")}
        for agent in texts.rows(record.get("agents"))
        if texts.whole(agent, "type") == 2
    ]
    host = texts.text(texts.mapping(about.get("node")), "hostname")
    return Told("" if pid is None else str(pid), host, devices, record)


def events_of(told: Told, notes: list[str]) -> Iterator[Event]:
    """What a process and its devices did; records without a time are counted.

    Args:
        told: the process.
        notes: takes what is to be said of it.
    """
    found, strings = (texts.mapping(told.record.get(key)) for key in ("buffer_records", "strings"))
    known = _Known(told.record, strings)
    left_out = 0
    for make, kinds in (
        (known.kernel, ("kernel_dispatch",)),
        (known.copy, ("memory_copy",)),
        (known.call, CALLS),
    ):
        for kind in kinds:
            for row in texts.rows(found.get(kind)):
                when = records.span(row.get("start_timestamp"), row.get("end_timestamp"))
                if when is None:
                    left_out += 1
                else:
                    yield make(row, when)
    if left_out:
        notes.append(
            f"Process {told.pid}: left out {counted(left_out, 'record')} without a usable time."
        )


class _Known:
    """Names and devices by the numbers that records have."""

    def __init__(self, record: Row, strings: Row) -> None:
        self._kernels = {
            texts.whole(row, "kernel_id"): texts.text(row, "formatted_kernel_name")
            or texts.text(row, "kernel_name")
            for row in texts.rows(record.get("kernel_symbols"))
        }
        self._agents = {
            _handle(row, "id"): _agent_number(row) for row in texts.rows(record.get("agents"))
        }
        kinds = texts.rows(strings.get("buffer_records"))
        self._kinds = [texts.text(row, "kind") for row in kinds]
        self._operations = [row.get("operations") for row in kinds]
        self._messages = {
            texts.whole(row, "key"): texts.text(row, "value")
            for row in texts.rows(strings.get("marker_api"))
        }

    def kernel(self, row: Row, when: records.Span) -> Event:
        info = texts.mapping(row.get("dispatch_info"))
        name = self._kernels.get(texts.whole(info, "kernel_id")) or "unknown"
        device = self._agents.get(_handle(info, "agent_id"), 0)
        return records.kernel(name, when, device, _handle(info, "queue_id") or 0, _call(row))

    def copy(self, row: Row, when: records.Span) -> Event:
        direction = self._operation(row)
        side = "src_agent_id" if records.is_to_host(direction) else "dst_agent_id"
        device = self._agents.get(_handle(row, side), 0)
        return records.copy(direction, when, device, _call(row), texts.whole(row, "bytes"))

    def call(self, row: Row, when: records.Span) -> Event:
        kind = self._kind(row)
        call = _call(row)
        message = self._messages.get(call, "") if records.is_marker(kind) else ""
        name = message or self._operation(row)
        return records.call(kind, name, when, texts.whole(row, "thread_id") or 0, call)

    def _kind(self, row: Row) -> str:
        number = texts.whole(row, "kind")
        return self._kinds[number] if number is not None and number < len(self._kinds) else ""

    def _operation(self, row: Row) -> str:
        kind, number = texts.whole(row, "kind"), texts.whole(row, "operation")
        names = self._operations[kind] if kind is not None and kind < len(self._kinds) else None
        if not isinstance(names, list) or number is None or number >= len(names):
            return "unknown"
        return names[number] if isinstance(names[number], str) else "unknown"


def _handle(row: Row, key: str) -> int | None:
    """The number in `{"handle": 7}`."""
    return texts.whole(texts.mapping(row.get(key)), "handle")


def _agent_number(agent: Row) -> int:
    """The number of a device among all agents, as tables have it in "Agent 4"."""
    return texts.whole(agent, "node_id") or 0


def _call(row: Row) -> int | None:
    return texts.whole(texts.mapping(row.get("correlation_id")), "internal")
