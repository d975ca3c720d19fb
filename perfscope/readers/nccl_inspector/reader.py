"""Reads what NCCL's inspector logged, one file a process: collectives with their times by rank.

A collective ends on all ranks at about one time, so that of the rank that came last is the shortest
and what the others took longer is waiting. The log has no begin of an operation that could be
compared between ranks: no efficiency follows.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from perfscope.arrays import Floats, rows_by
from perfscope.readers.common.spread import read_each
from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.detect import Reader, ReadOptions, Tells
from perfscope.readers.nccl_inspector.records import Group, Log, Records, read_log
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.trace.model import Format, Trace
from perfscope.units import counted, format_seconds, format_share

_SIGN = re.compile(
    rb'\s*\{\s*"header"\s*:\s*\{.{1,4000}?"(?:coll_perf|p2p_perf|dump_stats)"\s*:', re.DOTALL
)
WHY = "NCCL's inspector tells how long operations took, and not how ranks spent their time"
US = 1e-6
MOST_SAID = 3
NOTICEABLE_SHARE = 0.05
"""Of the time in collectives: below it nobody came late."""
MEETING = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all", re.IGNORECASE)
"""Collectives that no rank leaves before the last one has come."""


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """A run of which nothing is known but its operations of NCCL.

    Raises:
        UnreadableInputError: none of the files can be read.
    """
    logs, notes = read_each(paths, read_log)
    notes += [note for log in logs for note in log.notes]
    doubled = _doubled(logs)
    records, groups, names = _joined(logs)
    waits = _waits(records, groups, names)
    sources = sorted({source for log in logs for source in log.sources})
    measured = f", measured by {' and '.join(sources)}" if sources else ""
    of = counted(len(logs), "process", "processes")
    held = f"It holds {counted(len(records), 'operation')} of {of}{measured}."
    first = logs[0].path
    told = report(
        "NCCL's inspector",
        first if len(logs) == 1 else first.parent,
        [*_dropped(logs), *_said(waits), held],
        [_operations(records, names), _waiting(waits)],
    )
    world = max(range(len(groups)), key=lambda place: groups[place].ranks)
    ranks = np.unique(records["rank"][records["group"] == world]).tolist()
    trace = reporting_trace(
        first,
        Format.INSPECTOR,
        told,
        why=WHY,
        ranks=ranks,
        world_size=groups[world].ranks,
        notes=notes,
    )
    trace.damage += [*_sizes_disagree(groups), *doubled]
    return trace


def _dropped(logs: Sequence[Log]) -> list[str]:
    """How many operations are missing, because they ended faster than the plugin wrote them."""
    lost = sum(log.dropped for log in logs)
    told = (
        f"The inspector could not write {counted(lost, 'operation')} in time: sums are of the "
        "others. Larger NCCL_INSPECTOR_DUMP_COLL_RING_SIZE and NCCL_INSPECTOR_DUMP_P2P_RING_SIZE "
        "keep more."
    )
    return [told] if lost else []


def _sizes_disagree(groups: Sequence[Group]) -> list[Damage]:
    """That files say of one communicator that it has other numbers of ranks."""
    sizes: dict[str, int] = {}
    for group in groups:
        if group.id and sizes.setdefault(group.id, group.ranks) != group.ranks:
            text = (
                f"The files do not agree on how many ranks {_called(group)} has: one says "
                f"{sizes[group.id]:,}, another one {group.ranks:,}."
            )
            return [Damage("world_size", text, SPOILS_COMPARISON)]
    return []


def _doubled(logs: Sequence[Log]) -> list[Damage]:
    """That two files hold the same rank of a communicator: each of its operations counts twice."""
    seen: dict[tuple[Group, int], Path] = {}
    for log in logs:
        pairs = np.unique(log.records[["group", "rank"]])
        for place, rank in pairs.tolist():
            other = seen.setdefault((log.groups[place], rank), log.path)
            if other != log.path:
                text = (
                    f"Two files are of one rank: {other.name} and {log.path.name} are both of rank "
                    f"{rank} of {_called(log.groups[place])}."
                )
                return [Damage("doubled_rank", text, SPOILS_COMPARISON)]
    return []


def _joined(logs: Sequence[Log]) -> tuple[Records, list[Group], list[str]]:
    """The records of all files, with their groups and names numbered over all of them."""
    groups: dict[Group, int] = {}
    names: dict[str, int] = {}
    parts = []
    for log in logs:
        part = log.records
        group = np.array([groups.setdefault(one, len(groups)) for one in log.groups], np.int32)
        name = np.array([names.setdefault(one, len(names)) for one in log.names], np.int32)
        part["group"], part["name"] = group[part["group"]], name[part["name"]]
        parts.append(part)
    return np.concatenate(parts), list(groups), list(names)


class _Wait:
    """What ranks waited for each other in the collectives of one communicator that all told."""

    def __init__(self, group: Group, us: Floats) -> None:
        self.group, self.count = group, len(us)
        last = np.argmin(us, axis=1)
        self.came_last = np.bincount(last, minlength=group.ranks)
        self.waited_s = (us - us.min(axis=1, keepdims=True)).sum(axis=0) * US
        self.whole_s = float(us.sum(axis=0).mean() * US)

    @property
    def mean_s(self) -> float:
        """How long a rank waited, on average."""
        return float(self.waited_s.mean())


def _waits(records: Records, groups: Sequence[Group], names: Sequence[str]) -> list[_Wait]:
    """By communicator, of collectives that each of its ranks told once; most waiting first."""
    meeting = np.array([MEETING.search(name) is not None for name in names])
    rows = records[(records["is_message"] == 0) & meeting[records["name"]]]
    found = []
    # each operation of a communicator has numbers of its own: a first gather, a first reduction
    rows = rows[np.lexsort((rows["rank"], rows["number"], rows["name"]))]
    for mine in _split(rows, "group"):
        group = groups[int(mine["group"][0])]
        is_other = (np.diff(mine["number"]) != 0) | (np.diff(mine["name"]) != 0)
        first = np.flatnonzero(np.append(True, is_other))
        whole = first[np.diff(first, append=len(mine)) == group.ranks]
        if group.ranks < 2 or not len(whole):
            continue
        places = whole[:, None] + np.arange(group.ranks)
        is_each = np.all(mine["rank"][places] == np.arange(group.ranks), axis=1)
        if np.any(is_each):
            found.append(_Wait(group, mine["us"][places[is_each]]))
    return sorted(found, key=lambda wait: -wait.mean_s)


def _split(records: Records, column: str) -> list[Records]:
    """The records by what they have in a column."""
    return [records[rows] for rows in rows_by(records[column])]


def _said(waits: Sequence[_Wait]) -> Iterator[str]:
    large = [wait for wait in waits if wait.mean_s > NOTICEABLE_SHARE * wait.whole_s]
    for wait in large[:MOST_SAID]:
        late = int(np.argmax(wait.came_last))
        often = format_share(wait.came_last[late] / wait.count)
        yield (
            f"In {_called(wait.group)} rank {late} came last to {often} of "
            f"{counted(wait.count, 'collective')}: ranks waited {format_seconds(wait.mean_s)} of "
            f"{format_seconds(wait.whole_s)} in them, on average."
        )


def _called(group: Group) -> str:
    named = f"{group.name} " if group.name else f"communicator {group.id} " if group.id else ""
    return f"{named or 'a communicator '}of {counted(group.ranks, 'rank')}"


def _operations(records: Records, names: Sequence[str]) -> ToolTable:
    """By operation; bandwidth is NCCL's bus bandwidth, of all its calls together by their time."""
    rows: list[tuple[Cell, ...]] = []
    for mine in _split(records, "name"):
        told = mine[np.isfinite(mine["gbs"])]
        spent = float(told["us"].sum())
        rows.append(
            (
                names[int(mine["name"][0])],
                len(mine),
                int(mine["bytes"].sum(dtype=np.float64)),
                float(mine["us"].sum() * US),
                float((told["gbs"] * told["us"]).sum() / spent) if spent else None,
            )
        )
    columns = {
        "Operation": Quantity.CODE,
        "Calls of all ranks": Quantity.COUNT,
        "Bytes": Quantity.BYTES,
        "Time of all ranks": Quantity.SECONDS,
        "Bus bandwidth, GB/s": Quantity.NUMBER,
    }
    rows.sort(key=lambda row: -float(row[3] or 0))
    return table("Operations", columns, rows)


def _waiting(waits: Sequence[_Wait]) -> ToolTable:
    rows = [
        (_called(wait.group), rank, int(wait.came_last[rank]), float(wait.waited_s[rank]))
        for wait in waits
        for rank in range(wait.group.ranks)
    ]
    columns = {
        "Communicator": Quantity.TEXT,
        "Rank in it": Quantity.COUNT,
        "Came last": Quantity.COUNT,
        "Waited": Quantity.SECONDS,
    }
    return table("Waiting for the last rank in collectives", columns, rows)


READER = Reader(
    format=Format.INSPECTOR,
    description="logs of NCCL's or RCCL's inspector plugin (JSON lines, one file a process)",
    recognizes=lambda place: not place.is_directory and _SIGN.match(place.head) is not None,
    open=_open,
    tells=Tells(
        waits="which rank came last, by communicator",
        resources="time, bytes and bandwidth by operation, as NCCL measured them",
        known_from="files of the plugin, called as NCCL calls it but without a device",
    ),
    joins=True,
)
