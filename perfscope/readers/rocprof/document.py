"""The JSON of rocprofv3 (`--output-format json`): one object a process, records by kind.

Records name kernels, agents and operations by number; `strings` beside them has the operations.
Times are ns of the machine's monotonic clock. Source: "JSON output schema" in its manual.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints, mapped
from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.files import parse_json
from perfscope.memory import rows_that_fit
from perfscope.readers.common import texts
from perfscope.readers.common.blocks import Growth, as_text, blocks, too_many_events
from perfscope.readers.kineto.made import MADE_DTYPE
from perfscope.readers.rocprof import records
from perfscope.structures import dataclass
from perfscope.trace.model import Table

WHAT = "a profile of rocprofv3"
ACTION = (
    "Copy it again, or record again, large runs as tables: "
    "rocprofv3 --runtime-trace --output-format csv"
)
KEY = "rocprofiler-sdk-tool"
LISTS = ("kernel_dispatch", "memory_copy", "hip_api", "hsa_api", "marker_api", "rccl_api")
KERNELS, COPIES = range(2)
"""Places in LISTS; all others are calls."""
KEPT = ("metadata", "agents", "strings", "kernel_symbols")
GROWTH = Growth(ratio=100, most_bytes=1 << 40)
ROW_BYTES = 400
"""What each record takes at the peak (docs/engine.md), and some room."""
ROW_DTYPE = np.dtype(
    [
        *((name, "i8") for name in ("t0", "t1", "call", "thread")),
        *((name, "i8") for name in ("agent", "source", "target", "queue")),
        ("bytes", "i8"),
        ("kernel", "i8"),
        ("kind", "i4"),
        ("operation", "i4"),
        ("list", "u4"),  # place in LISTS
    ]
)
"""Records as the engine finds them; what is not known is -1. Agents are handles."""
CATEGORIES = ("kernel", "gpu_memcpy", "cuda_runtime", "user_annotation")
KERNEL, COPY, CALL, MARKER = range(len(CATEGORIES))
Row = Mapping[str, Any]
Numbers = Ints


@dataclass(frozen=True)
class Process:
    """One process: who it was, its devices, what is known of it by number, and its records."""

    pid: str
    host: str
    devices: list[dict[str, Any]]
    members: Row
    rows: Table
    left_out: int  # records without a usable time
    lived_ns: tuple[int, int] | None  # from when to when


def recognizes(head: bytes) -> bool:
    """Whether a file begins like this JSON."""
    return head.lstrip()[:1] == b"{" and f'"{KEY}"'.encode() in head[:256]


def processes_in(path: Path) -> list[Process]:
    """What a file holds of each process.

    Raises:
        UnreadableInputError: it is no such JSON, or is too large.
    """
    cut: list[str] = []
    most = rows_that_fit(row_bytes=ROW_BYTES)
    file = engine.RocprofJson(as_text(path), KEY, LISTS, KEPT, most)
    try:
        for block in blocks(path, cut.append, GROWTH):
            file.feed(block)
        file.finish()
        found = [_process(*process) for process in file.processes()]
    except ValueError as error:  # the engine's, or that of a member
        what = f"at byte {error.args[1]:,}: {error.args[2]}" if len(error.args) > 2 else str(error)
        why = cut[0] if cut else f"Its JSON ends early or is damaged {what}."
        raise UnreadableInputError(
            f"{path} cannot be read as {WHAT}.", why=why, action=ACTION
        ) from error
    if file.is_full:
        raise too_many_events(path)
    if not found:
        why = f"`{KEY}` holds no process."
        raise UnreadableInputError(f"{path} holds no profile.", why=why, action=ACTION)
    return found


def _process(written: Mapping[str, str], rows: npt.NDArray[np.uint8], left_out: int) -> Process:
    members = {name: parse_json(text, []) for name, text in written.items()}
    about = texts.mapping(members.get("metadata"))
    pid = texts.whole(about, "pid")
    devices = [
        {"id": _agent_number(agent), "name": texts.text(agent, "product_name")}
        for agent in texts.rows(members.get("agents"))
        if texts.whole(agent, "type") == 2
    ]
    host = texts.text(texts.mapping(about.get("node")), "hostname")
    shown = "" if pid is None else str(pid)
    lived_ns = records.span(texts.whole(about, "init_time"), texts.whole(about, "fini_time"))
    return Process(shown, host, devices, members, rows.view(ROW_DTYPE), left_out, lived_ns)


def made_of(process: Process) -> tuple[Table, list[str]]:
    """What a process and its devices did, in order, as rows of MADE_DTYPE with their names."""
    rows = process.rows[np.lexsort((process.rows["list"], process.rows["t0"]))]
    made = np.zeros(len(rows), MADE_DTYPE)
    made["t0"], made["t1"], made["correlation"] = rows["t0"], rows["t1"], rows["call"]
    made["bytes"] = made["device"] = made["stream"] = -1
    known, names = _Known(process.members), _Names()
    is_kernel, is_copy = rows["list"] == KERNELS, rows["list"] == COPIES
    for is_one, fill in (
        (is_kernel, known.kernels),
        (is_copy, known.copies),
        (~is_kernel & ~is_copy, known.calls),
    ):
        part = made[is_one]
        fill(rows[is_one], part, names)
        made[is_one] = part
    return made, list(names.places)


class _Names:
    """Texts by their numbers."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def of(self, keys: Numbers, name_of: Callable[[int], str]) -> Numbers:
        """The number of the text of each key, which is asked for once for each different one."""
        return mapped(keys, lambda key: self.places.setdefault(name_of(key), len(self.places)))


class _Known:
    """Names and devices by the numbers that records have."""

    def __init__(self, members: Row) -> None:
        strings = texts.mapping(members.get("strings"))
        self._kernels = {
            texts.whole(row, "kernel_id"): texts.text(row, "formatted_kernel_name")
            or texts.text(row, "kernel_name")
            for row in texts.rows(members.get("kernel_symbols"))
        }
        self._agents = {
            _handle(row, "id"): _agent_number(row) for row in texts.rows(members.get("agents"))
        }
        kinds = texts.rows(strings.get("buffer_records"))
        self._kinds = [texts.text(row, "kind") for row in kinds]
        self._operations = [row.get("operations") for row in kinds]
        messages = (
            (texts.whole(row, "key"), texts.text(row, "value"))
            for row in texts.rows(strings.get("marker_api"))
        )
        self._messages = {key: text for key, text in messages if key is not None and text}

    def kernels(self, rows: Table, made: Table, names: _Names) -> None:
        """Kernels on a queue of a device."""
        made["name"] = names.of(rows["kernel"], lambda key: self._kernels.get(key) or "unknown")
        made["thread"] = np.maximum(rows["queue"], 0)
        made["stream"] = _small(made["thread"])
        made["device"] = _small(mapped(rows["agent"], self._agent))

    def copies(self, rows: Table, made: Table, names: _Names) -> None:
        """Copies from or to a device, named by their direction."""
        keys = _operation_keys(rows)
        made["name"] = names.of(keys, self._operation)
        is_to_host = mapped(keys, lambda key: records.is_to_host(self._operation(key)))
        sides = np.where(is_to_host, rows["source"], rows["target"])
        made["device"] = _small(mapped(sides, self._agent))
        made["stream"], made["bytes"], made["category"] = 0, rows["bytes"], COPY

    def calls(self, rows: Table, made: Table, names: _Names) -> None:
        """Calls of the host, and ranges that the program marked by the text that it gave."""
        made["name"] = names.of(_operation_keys(rows), self._operation)
        made["thread"] = np.maximum(rows["thread"], 0)
        is_marker = mapped(rows["kind"], self._is_marker) != 0
        made["category"] = np.where(is_marker, MARKER, CALL)
        said = is_marker & np.isin(
            rows["call"], [key for key, text in self._messages.items() if text]
        )
        made["name"][said] = names.of(rows["call"][said], self._messages.__getitem__)

    def _agent(self, handle: int) -> int:
        return self._agents.get(handle, 0)

    def _is_marker(self, kind: int) -> int:
        return 0 <= kind < len(self._kinds) and records.is_marker(self._kinds[kind])

    def _operation(self, key: int) -> str:
        kind, number = key >> 32, key & 0xFFFFFFFF
        names = self._operations[kind] if 0 <= kind < len(self._kinds) else None
        if not isinstance(names, list) or number >= len(names):
            return "unknown"
        return names[number] if isinstance(names[number], str) else "unknown"


def _operation_keys(rows: Table) -> Numbers:
    """Kind and operation as one number."""
    keys: Numbers = (rows["kind"].astype(np.int64) << 32) | (
        rows["operation"].astype(np.int64) & 0xFFFFFFFF
    )
    return keys


def _small(numbers: Numbers) -> Numbers:
    """What fits in a row's column, -1 for others."""
    return np.where(numbers < 1 << 31, numbers, -1)


def _handle(row: Row, key: str) -> int | None:
    """The number in `{"handle": 7}`."""
    return texts.whole(texts.mapping(row.get(key)), "handle")


def _agent_number(agent: Row) -> int:
    """The number of a device among all agents, as tables have it in "Agent 4"."""
    return texts.whole(agent, "node_id") or 0
