"""Reads the tables that perfscope exports as CSV or Parquet: one run as it was judged.

`tables.json` says what no table holds: over which time the run was judged, what was wrong with it,
who is in which communicator. It stands for the directory.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import exported, texts
from perfscope.readers.common.texts import read_document
from perfscope.readers.detect import Reader, ReadOptions, Tells
from perfscope.readers.exported_tables.columns import ACTION, Columns, Kind, Wanted, read_columns
from perfscope.readers.exported_tables.ranks import (
    WANTED,
    ByRank,
    Names,
    World,
    kernels,
    operations,
    phases,
    requests,
    steps,
    texts_of,
)
from perfscope.readers.exported_tables.stacks import WANTED as STACKS
from perfscope.readers.exported_tables.stacks import Stacks
from perfscope.schema.enums import EndKind
from perfscope.trace.devices import DeviceActivity, DeviceInfo
from perfscope.trace.model import Communicator, Ending, Format, Rank, RowFlag, Table, Trace
from perfscope.trace.operations import HOROVOD_EXPOSED
from perfscope.trace.totals import totals_of

NAME = "tables.json"
WHAT = "the description of exported tables"
ENDINGS = (".csv", ".parquet")
_OWN = re.compile(
    rb'\s*\{\s*"schema_version"\s*:\s*"\d+"\s*,\s*"tool"\s*:\s*"perfscope [^"]*tables"'
)
_PLAIN = re.compile(r"\w{1,100}")
NOT_RECORDED = {
    "memory": "of exported tables, those of processes and threads are not read",
    "threads": "of exported tables, those of processes and threads are not read",
    "io": "exported tables do not hold the bytes of files",
    "environment": "exported tables do not hold the environment",
}


def _companions(path: Path) -> Sequence[Path]:
    """The tables that the description speaks of, also those that are not read."""
    if path.is_dir():
        return ()
    try:
        known = texts.mapping(texts.mapping(read_document(path, WHAT, ACTION)).get("tables"))
    except UnreadableInputError:
        known = WANTED
    names = [name for name in known if _PLAIN.fullmatch(name)]
    return [path.parent / f"{name}{ending}" for name in names for ending in ENDINGS]


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The run that was exported.

    Raises:
        UnreadableInputError: a table is missing or damaged.
    """
    path = paths[0]
    document = texts.mapping(read_document(path, WHAT, ACTION))
    told = texts.mapping(document.get(exported.KEY))
    columns = {
        name: _columns(path, name, wanted, document)
        for name, wanted in {**WANTED, **STACKS}.items()
    }
    numbers = [one for one in columns["ranks"]["rank"].tolist() if 0 <= one < exported.MOST_RANKS]
    if not numbers or len(set(numbers)) != len(columns["ranks"]["rank"]):
        raise _senseless(path, "Its ranks have no numbers, or one number twice")
    size = document.get("world_size")
    size = (
        size
        if type(size) is int and max(numbers) < size <= exported.MOST_RANKS
        else max(numbers) + 1
    )
    groups = _communicators(told, size)
    names = Names()
    stacks = Stacks(columns["stacks"])
    ranks = _ranks(columns, World(size, len(groups)), names, told)
    _set_samples(ranks, columns["samples"], stacks)
    _check_times(path, ranks)
    origin = document.get("origin_unix_ns")
    trace = Trace(
        origin_unix_ns=origin if type(origin) is int and 0 <= origin < exported.LATEST_NS else 0,
        wall_ns=max(rank.end_ns for rank in ranks),
        world_size=size,
        ranks=ranks,
        names=names.all,
        frames=stacks.frames,
        stacks=stacks.stacks,
        communicators=groups,
        environment={"hosts": sorted({rank.host for rank in ranks})},
        source=str(path.parent),
        format=Format.TABLES,
        not_recorded=exported.reasons(told, NOT_RECORDED),
    )
    return exported.as_judged(trace, told)


def _senseless(path: Path, why: str) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path.parent} cannot be read as exported tables.", why=f"{why}.", action=ACTION
    )


def _columns(
    path: Path, name: str, wanted: Wanted, document: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The columns of a table, with as many rows as the description says."""
    place = next(
        (found for end in ENDINGS if (found := path.parent / f"{name}{end}").exists()), None
    )
    if place is None:
        raise _senseless(path, f"There is no table {name}.csv or {name}.parquet beside {path.name}")
    columns: Columns = read_columns(place, wanted)
    rows = len(columns[next(one for one, kind in wanted.items() if kind is Kind.INTEGER)])  # type: ignore[arg-type]
    table = texts.mapping(texts.mapping(document.get("tables")).get(name))
    if table.get("rows") != rows:
        why = f"{place.name} holds {rows} rows, and {path.name} speaks of {table.get('rows')}"
        raise _senseless(path, why)
    return columns


def _communicators(told: Mapping[str, Any], size: int) -> list[Communicator]:
    """The groups of ranks, the world first."""
    rows = told.get("communicators")
    found: list[Communicator] = []
    for row in rows if isinstance(rows, list) else []:
        if not (isinstance(row, list) and row and all(type(one) is int for one in row)):
            return [Communicator(1, tuple(range(size)), -1)]
        members = tuple(one for one in row[1:] if 0 <= one < size)
        parent = row[0] if -1 <= row[0] < len(found) else -1
        found.append(Communicator(len(found) + 1, members, parent))
    return found or [Communicator(1, tuple(range(size)), -1)]


def _ranks(
    columns: Mapping[str, Mapping[str, Any]], world: World, names: Names, told: Mapping[str, Any]
) -> list[Rank]:
    calls, is_background = operations(columns["operations"], world)
    ends = requests(columns["requests"], world)
    marked, is_phase = phases(columns["intervals"], names)
    iterations, is_told = steps(columns["steps"])
    work, is_named = kernels(columns["kernels"], names, world)
    of = {name: columns[name]["rank"] for name in WANTED}
    ranks = _lives(columns["ranks"])
    own = ByRank(calls, of["operations"], ~is_background)
    background = ByRank(calls, of["operations"], is_background)
    completed = ByRank(ends, of["requests"])
    phased = ByRank(marked, of["intervals"], is_phase)
    stepped = ByRank(iterations, of["steps"], is_told)
    worked = ByRank(work, of["kernels"], is_named)
    for rank in ranks:
        number = rank.number
        rank.operations, rank.background = own[number], background[number]
        rank.operations["tid"][rank.operations["op"] == HOROVOD_EXPOSED] = rank.main_tid
        rank.completions, rank.phases = completed[number], phased[number]
        rank.steps = stepped[number]
        rank.devices = _devices(worked[number], number, told)
        noted = [row[1] for row in _of_rank(told.get("frameworks"), number, 2)]
        rank.metadata = {"frameworks": noted[0]} if noted else {}
        rank.totals = totals_of(np.concatenate([rank.operations, rank.background]))
    return sorted(ranks, key=lambda rank: rank.number)


def _set_samples(ranks: Sequence[Rank], columns: Mapping[str, Any], stacks: Stacks) -> None:
    """The stack samples of each rank; phases that were told from them are told from them again."""
    samples, is_known = stacks.samples(columns)
    sampled = ByRank(samples, columns["rank"], is_known)
    for rank in ranks:
        rank.stacks = sampled[rank.number]
        if len(rank.stacks):
            rank.phases = rank.phases[rank.phases["flags"] & RowFlag.SAMPLED == 0]


def _lives(columns: Mapping[str, Any]) -> list[Rank]:
    hosts = texts_of(columns, "host")
    numbers = ("rank", "pid", "start_ns", "end_ns", "main_tid", "init_exit_ns", "finalize_enter_ns")
    rows = zip(hosts, *(columns[name].tolist() for name in numbers), strict=True)
    return [
        Rank(
            number=number,
            host=host,
            pid=pid,
            start_ns=start,
            end_ns=max(start, end),
            main_tid=main_tid,
            ending=Ending(EndKind.UNKNOWN, source="the tables do not tell it"),
            init_exit_ns=entered if start <= entered <= end else None,
            finalize_enter_ns=left if start <= left <= end else None,
        )
        for host, number, pid, start, end, main_tid, entered, left in rows
    ]


def _devices(rows: Table, number: int, told: Mapping[str, Any]) -> DeviceActivity | None:
    """What the devices of a rank did; None where none was watched."""
    named = [
        DeviceInfo(row[1], row[2])
        for row in _of_rank(told.get("devices"), number, 3)
        if type(row[1]) is int and isinstance(row[2], str)
    ]
    watched = [
        (row[1], row[2])
        for row in _of_rank(told.get("watched"), number, 3)
        if type(row[1]) is int and type(row[2]) is int
    ]
    if not len(rows) and not named:
        return None
    return DeviceActivity(rows=rows, devices=named, watched=watched[0] if watched else None)


def _of_rank(rows: object, number: int, length: int) -> list[list[Any]]:
    found = rows if isinstance(rows, list) else []
    return [
        row for row in found if isinstance(row, list) and len(row) == length and row[0] == number
    ]


def _check_times(path: Path, ranks: Sequence[Rank]) -> None:
    """Fails where a rank does something outside of its life, which no export does.

    Raises:
        UnreadableInputError: it does.
    """
    for rank in ranks:
        if not -exported.LATEST_NS < rank.start_ns <= rank.end_ns < exported.LATEST_NS:
            raise _senseless(path, f"The times of rank {rank.number} cannot be")
        moments = rank.stacks["t"]
        if np.any((moments <= -exported.LATEST_NS) | (moments >= exported.LATEST_NS)):
            raise _senseless(path, f"The times of samples of rank {rank.number} cannot be")
        for table in (rank.operations, rank.background, rank.phases, rank.steps, rank.completions):
            inside = (table["t0"] >= rank.start_ns) & (table["t1"] <= rank.end_ns)
            if not np.all(inside):
                raise _senseless(path, f"Rank {rank.number} does something outside of its life")


READER = Reader(
    format=Format.TABLES,
    description="tables that perfscope exported (CSV or Parquet, with tables.json)",
    recognizes=lambda place: not place.is_directory and _OWN.match(place.head) is not None,
    open=_open,
    tells=Tells(
        efficiencies="yes",
        waits="collectives, messages",
        phases="as the recording had them",
        devices="yes",
        clock="as the recording's",
        known_from="exports of recordings and of other tools' traces",
    ),
    companions=_companions,
)
