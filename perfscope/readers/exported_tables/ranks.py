"""What the columns of an export say of each rank, as tables of the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.readers.common.amounts import forget_impossible_sizes
from perfscope.readers.common.calls import set_partners
from perfscope.readers.exported_tables.columns import MISSING, Columns, Kind, Texts, Wanted
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.devices import DEVICE_DTYPE, LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import (
    COMPLETION_DTYPE,
    OPERATION_DTYPE,
    PEER_NONE,
    PEER_PROC_NULL,
    PEER_UNKNOWN,
    PHASE_DTYPE,
    STEP_DTYPE,
    RowFlag,
    Table,
)
from perfscope.trace.operations import (
    BY_NAME,
    IS_COLLECTIVE,
    MPI_OTHER,
)

_INTEGER, _OPTIONAL, _FLAG, _TEXT = Kind.INTEGER, Kind.OPTIONAL, Kind.FLAG, Kind.TEXT
_SPAN: Wanted = {"rank": _INTEGER, "t0_ns": _INTEGER, "t1_ns": _INTEGER}
_OF_CALL: Wanted = {
    "tid": _INTEGER,
    "name": _TEXT,
    "communicator": _OPTIONAL,
    "sequence": _OPTIONAL,
    "tag": _OPTIONAL,
    "sent_bytes": _OPTIONAL,
    "received_bytes": _OPTIONAL,
}
WANTED: Mapping[str, Wanted] = {
    "ranks": {
        "rank": _INTEGER,
        "host": _TEXT,
        "pid": _INTEGER,
        "main_tid": _INTEGER,
        "start_ns": _INTEGER,
        "end_ns": _INTEGER,
        "init_exit_ns": _OPTIONAL,
        "finalize_enter_ns": _OPTIONAL,
    },
    "operations": {
        **_SPAN,
        **_OF_CALL,
        "background": _FLAG,
        "target": _OPTIONAL,
        "source": _OPTIONAL,
        "root": _OPTIONAL,
        "nobody": _FLAG,
        "received_tag": _OPTIONAL,
        "request": _OPTIONAL,
        "calls": _INTEGER,
        "open": _FLAG,
    },
    "requests": {
        "rank": _INTEGER,
        "completed_ns": _INTEGER,
        **_OF_CALL,
        "request": _INTEGER,
        "partner": _OPTIONAL,
    },
    "intervals": {
        **_SPAN,
        "tid": _INTEGER,
        "kind": _TEXT,
        "name": _TEXT,
        "category": _TEXT,
        "step": _OPTIONAL,
        "epoch": _OPTIONAL,
        "sampled": _FLAG,
        "open": _FLAG,
    },
    "steps": {
        **_SPAN,
        "number": _INTEGER,
        "epoch": _OPTIONAL,
        "source": _TEXT,
        "samples": _OPTIONAL,
        "global_batch": _OPTIONAL,
    },
    "kernels": {
        **_SPAN,
        "device": _INTEGER,
        "stream": _INTEGER,
        "kind": _TEXT,
        "name": _TEXT,
        "launch_ns": _OPTIONAL,
        "correlation": _OPTIONAL,
        "bytes": _OPTIONAL,
        "communicator": _OPTIONAL,
        "operation": _TEXT,
        "sequence": _OPTIONAL,
        "members": _OPTIONAL,
    },
}
"""The columns that are read, by table."""
USER_PHASE = "user:"
"""Before the names of phases that the program named."""


class Names:
    """The names of a trace and their places."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def of(self, column: Texts, prefix: str = "") -> Ints:
        """The places of a column's texts without what some begin with; -1 for none."""
        texts = (text.removeprefix(prefix) for text in column.texts)
        places = [self._places.setdefault(text, len(self._places)) for text in texts]
        return np.array([*places, -1], np.int64)[column.codes]

    @property
    def all(self) -> list[str]:
        """In the order of their places."""
        return list(self._places)


@dataclass(frozen=True)
class World:
    """What numbers may stand in columns."""

    size: int
    communicators: int

    def ranks(self, values: Ints, otherwise: Ints | int = PEER_NONE) -> Ints:
        """Numbers of ranks; others where they are none."""
        return np.where((values >= 0) & (values < self.size), values, otherwise)

    def groups(self, values: Ints) -> Ints:
        """Numbers of communicators, -1 where they are none."""
        return np.where((values >= 0) & (values < self.communicators), values, -1)


def _at_least(values: Ints, least: int) -> Ints:
    """Values in bounds; the least for what is missing or no such value."""
    return np.where((values >= least) & (values <= np.iinfo(np.int32).max), values, least)


def _codes(column: Texts) -> Ints:
    codes = [BY_NAME[text].code if text in BY_NAME else MPI_OTHER for text in column.texts]
    return np.array([*codes, MPI_OTHER], np.int64)[column.codes]


def _spans(table: Table, columns: Mapping[str, Any]) -> None:
    table["t0"] = columns["t0_ns"]
    table["t1"] = np.maximum(columns["t1_ns"], columns["t0_ns"])


def _called(table: Table, columns: Mapping[str, Any], world: World) -> None:
    """What rows of calls and of requests have in common."""
    table["op"] = _codes(columns["name"])
    table["tid"] = _at_least(columns["tid"], 0)
    table["comm"] = world.groups(columns["communicator"])
    table["tag"] = _at_least(columns["tag"], -1)
    table["seq"] = np.where(
        IS_COLLECTIVE[table["op"]] & (table["comm"] >= 0), np.maximum(columns["sequence"], -1), -1
    )
    for name in ("sent", "received"):
        table[name] = np.maximum(columns[f"{name}_bytes"], 0)
    forget_impossible_sizes(table)


def operations(columns: Mapping[str, Any], world: World) -> tuple[Table, Bools]:
    """The calls, and which of them were those of Horovod's own thread."""
    table = np.zeros(len(columns["rank"]), OPERATION_DTYPE)
    _spans(table, columns)
    _called(table, columns, world)
    silent = np.where(columns["nobody"], PEER_PROC_NULL, PEER_UNKNOWN)
    joined = columns["calls"] > 1
    table["request"] = np.where(joined, columns["calls"], np.maximum(columns["request"], 0))
    set_partners(
        table,
        target=world.ranks(columns["target"], silent),
        source=world.ranks(columns["source"], silent),
        root=world.ranks(np.where(IS_COLLECTIVE[table["op"]], columns["root"], MISSING)),
        received_tag=columns["received_tag"],
    )
    table["flags"] = joined * RowFlag.COALESCED + columns["open"] * RowFlag.OPEN
    return table, columns["background"]


def requests(columns: Mapping[str, Any], world: World) -> Table:
    """The ends of requests."""
    table = np.zeros(len(columns["rank"]), COMPLETION_DTYPE)
    table["t0"] = table["t1"] = columns["completed_ns"]
    _called(table, columns, world)
    table["peer"] = world.ranks(columns["partner"])
    table["request"] = np.maximum(columns["request"], 0)
    return table


def phases(columns: Mapping[str, Any], names: Names) -> tuple[Table, Bools]:
    """The intervals as phases, and which of them are some."""
    kinds = {kind.name.lower(): kind for kind in PhaseKind}
    table = np.zeros(len(columns["rank"]), PHASE_DTYPE)
    _spans(table, columns)
    known = [kinds.get(text, 0) for text in columns["category"].texts]
    table["kind"] = np.array([*known, 0], np.int64)[columns["category"].codes]
    table["name"] = names.of(columns["name"], USER_PHASE)
    table["tid"] = _at_least(columns["tid"], 0)
    table["step"], table["epoch"] = (
        np.maximum(columns["step"], -1),
        _at_least(columns["epoch"], -1),
    )
    table["flags"] = columns["sampled"] * RowFlag.SAMPLED + columns["open"] * RowFlag.OPEN
    is_phase = _is_one_of(columns["kind"], ("phase",)) & (table["kind"] > 0) & (table["name"] >= 0)
    return table, is_phase


def steps(columns: Mapping[str, Any]) -> tuple[Table, Bools]:
    """The steps, and which of them the program told."""
    table = np.zeros(len(columns["rank"]), STEP_DTYPE)
    _spans(table, columns)
    table["number"] = np.maximum(columns["number"], -1)
    table["epoch"] = _at_least(columns["epoch"], -1)
    for name in ("samples", "global_batch"):
        table[name] = np.maximum(columns[name], 0)
    return table, _is_one_of(columns["source"], TOLD_STEPS)


def kernels(columns: Mapping[str, Any], names: Names, world: World) -> tuple[Table, Bools]:
    """What devices did, and which rows have a name."""
    kinds = {kind.name.lower(): kind for kind in DeviceKind}
    table = np.zeros(len(columns["rank"]), DEVICE_DTYPE)
    _spans(table, columns)
    known = [kinds.get(text, DeviceKind.COMPUTE) for text in columns["kind"].texts]
    table["kind"] = np.array([*known, DeviceKind.COMPUTE], np.int64)[columns["kind"].codes]
    table["name"], table["op"] = names.of(columns["name"]), names.of(columns["operation"])
    launch = columns["launch_ns"]
    table["launch"] = np.where(launch == MISSING, LAUNCH_UNKNOWN, launch)
    for name, column in (("correlation", "correlation"), ("bytes", "bytes"), ("seq", "sequence")):
        table[name] = np.maximum(columns[column], -1)
    for name in ("device", "stream"):
        table[name] = _at_least(columns[name], 0)
    table["comm"] = world.groups(columns["communicator"])
    table["members"] = _at_least(columns["members"], 0)
    return table, table["name"] >= 0


def _is_one_of(column: Texts, texts: Sequence[str]) -> Bools:
    found: Bools = np.array([*(text in texts for text in column.texts), False])[column.codes]
    return found


class ByRank:
    """The rows of a table, or the chosen ones, by rank: those of each in the order of time."""

    def __init__(self, table: Table, ranks: Ints, chosen: Bools | None = None) -> None:
        rows, ranks = (table, ranks) if chosen is None else (table[chosen], ranks[chosen])
        order = np.lexsort((rows[rows.dtype.names[0]], ranks))  # type: ignore[index]
        self._rows, self._ranks = rows[order], ranks[order]

    def __getitem__(self, number: int) -> Table:
        begin, end = np.searchsorted(self._ranks, [number, number + 1])
        found: Table = self._rows[begin:end]
        return found


def texts_of(columns: Columns, name: str) -> list[str]:
    """A column of text as texts."""
    column = columns[name]
    assert isinstance(column, Texts)
    return [column.texts[code] if code >= 0 else "" for code in column.codes.tolist()]
