"""Lines of NCCL's and RCCL's inspector plugin: one JSON object for each operation of a rank.

`header` has the communicator and the rank on it, `metadata` the process, `coll_perf` or `p2p_perf`
the operation. Source: NCCL, plugins/profiler/inspector (format v4.0).
"""

from array import array
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.errors import UnreadableInputError
from perfscope.files import parse_json
from perfscope.readers.common import texts
from perfscope.structures import dataclass
from perfscope.units import counted

MOST_RECORDS = 5_000_000
"""Of a process: each takes about 100 bytes."""
MOST_NAMES = 10_000
LONGEST_NAME = 120
MOST_RANKS = 1 << 20
MOST_SOURCES = 10
COLLECTIVE, MESSAGE = "coll_perf", "p2p_perf"
PREFIXES = {COLLECTIVE: "coll", MESSAGE: "p2p"}
RECORD_DTYPE = np.dtype(
    [
        ("group", "i4"),  # place in Log.groups
        ("name", "i4"),  # place in Log.names
        ("rank", "i4"),
        ("is_message", "i4"),
        ("number", "i8"),  # of this operation on its communicator
        ("bytes", "i8"),
        ("us", "f8"),
        ("gbs", "f8"),  # bus bandwidth, not a number where it is not told
    ]
)
Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class Group:
    """A communicator, by its hash; "" where it has no name."""

    id: str
    name: str
    ranks: int


@dataclass
class Log:
    """What one file tells."""

    path: Path
    records: Records
    groups: list[Group]
    names: list[str]
    sources: set[str]
    notes: list[str] = field(default_factory=list)


def read_log(path: Path) -> Log:
    """The operations in a file.

    Raises:
        UnreadableInputError: it cannot be read, or no line tells of an operation.
    """
    notes: list[str] = []
    taken = _Taken()
    odd = 0
    for line in texts.lines(path, notes.append):
        if line.strip():
            odd += not taken.take(line)
    if not taken.count:
        raise UnreadableInputError(
            f"{path} tells of no operation.",
            why=f"{counted(odd, 'line')} could not be read as an operation of NCCL's inspector.",
            action="Record again: NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_DIR=DIR.",
        )
    if odd:
        notes.append(f"{path.name}: left out {counted(odd, 'line')} that tell no operation.")
    if taken.is_full:
        notes.append(f"{path.name}: of more than {MOST_RECORDS:,} operations the first were read.")
    return Log(path, taken.records(), list(taken.groups), list(taken.names), taken.sources, notes)


class _Taken:
    """Records as columns, with communicators and names by number."""

    def __init__(self) -> None:
        self.groups: dict[Group, int] = {}
        self.names: dict[str, int] = {}
        self.sources: set[str] = set()
        self.is_full = False
        self._columns: dict[str, array[Any]] = {
            name: array(RECORD_DTYPE[name].char) for name in RECORD_DTYPE.names or ()
        }

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._columns["rank"])

    def take(self, line: str) -> bool:
        """Whether a line tells of an operation."""
        if self.count >= MOST_RECORDS:
            self.is_full = True
            return True
        try:
            told = texts.mapping(parse_json(line.encode(), []))
        except ValueError:
            return False
        kind = next((kind for kind in PREFIXES if kind in told), "")
        return bool(kind) and self._add(told, kind)

    def _add(self, told: Mapping[str, Any], kind: str) -> bool:
        header, row = texts.mapping(told.get("header")), texts.mapping(told[kind])
        prefix = PREFIXES[kind]
        rank, size = texts.whole(header, "rank"), texts.whole(header, "n_ranks")
        number = texts.whole(row, f"{prefix}_sn")
        spent = texts.amount(row, f"{prefix}_exec_time_us")
        if rank is None or not size or rank >= size or size > MOST_RANKS or number is None:
            return False
        name = texts.text(row, prefix)[:LONGEST_NAME]
        group = Group(_named(header, "id"), _named(header, "comm_name"), size)
        is_new = name not in self.names or group not in self.groups
        if spent is None or not name:
            return False
        if is_new and max(len(self.names), len(self.groups)) >= MOST_NAMES:
            return False
        bandwidth = texts.amount(row, f"{prefix}_busbw_gbs")
        values: dict[str, float] = {
            "group": self.groups.setdefault(group, len(self.groups)),
            "name": self.names.setdefault(name, len(self.names)),
            "rank": rank,
            "is_message": kind == MESSAGE,
            "number": number,
            "bytes": texts.whole(row, f"{prefix}_msg_size_bytes") or 0,
            "us": spent,
            "gbs": float("nan") if bandwidth is None else bandwidth,
        }
        for column, value in values.items():
            self._columns[column].append(value)
        source = texts.text(row, f"{prefix}_timing_source")[:LONGEST_NAME]
        if source and len(self.sources) < MOST_SOURCES:
            self.sources.add(source)
        return True

    def records(self) -> Records:
        """All of them, as a table."""
        table = np.zeros(self.count, RECORD_DTYPE)
        for name, column in self._columns.items():
            table[name] = column
        return table


def _named(header: Mapping[str, Any], key: str) -> str:
    found = texts.text(header, key)[:LONGEST_NAME]
    return "" if found == "unknown" else found
