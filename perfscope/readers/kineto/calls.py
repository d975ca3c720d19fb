"""What perfscope exports to Chrome's format and other tools do not write: calls, ids of phases."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.arrays import Ints
from perfscope.readers.common import texts
from perfscope.readers.common.amounts import LONGEST_NS
from perfscope.readers.common.calls import EXCHANGES, one_at_a_time, set_partners
from perfscope.readers.common.exported import KEY, PARTNERS, lives
from perfscope.readers.kineto.file import (
    BACKGROUND,
    CALL,
    REQUEST,
    KinetoContents,
    is_own_export,
)
from perfscope.readers.kineto.groups import Groups
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import (
    OPERATION_DTYPE,
    PEER_NONE,
    PEER_PROC_NULL,
    PEER_UNKNOWN,
    Table,
)
from perfscope.trace.operations import BY_NAME, HOROVOD_EXPOSED, IS_COLLECTIVE

_LANE = re.compile(r" (\d{1,10}) \(overlapping \d+\)$")
USER_PHASE = "user:"
"""Before the names of phases that the program named."""


def is_export(contents: KinetoContents) -> bool:
    """Whether perfscope wrote the file."""
    return is_own_export(contents.members)


def own_rules(contents: KinetoContents) -> list[tuple[str, str]]:
    """Rules by which the phases of an export keep their ids; none for files of other tools."""
    if not is_export(contents):
        return []
    return [(kind.name.lower(), kind.name.lower()) for kind in PhaseKind if kind != PhaseKind.USER]


def told_by_export(contents: KinetoContents) -> Mapping[str, Any]:
    """What an export says beside its events; nothing of files of other tools."""
    other = contents.members.get("otherData") if is_export(contents) else None
    return texts.mapping(texts.mapping(other).get(KEY))


def as_exported(number: int, contents: KinetoContents) -> KinetoContents:
    """The contents of a rank with its begin, end and main thread, as an export has them beside."""
    if is_export(contents):
        contents = _without_lanes(contents)
    found = lives(told_by_export(contents), (number,)).get(number)
    if found is None:
        return contents
    start, end = found.start_ns, found.end_ns
    if not start <= contents.start_ns <= contents.end_ns <= end <= start + LONGEST_NS:
        return contents
    return replace(contents, start_ns=start, end_ns=end, main_tid=found.main_tid)


def _without_lanes(contents: KinetoContents) -> KinetoContents:
    """The contents with all intervals on the threads that they are of.

    An export writes what overlaps otherwise beside its thread, under a name that tells the thread.
    """
    threads = contents.threads
    places = {(thread.process, thread.thread): at for at, thread in enumerate(threads)}
    of = np.arange(len(threads))
    for at, thread in enumerate(threads):
        if told := _LANE.search(thread.name):
            of[at] = places.get((thread.process, told[1]), at)
    host, calls = contents.host.copy(), contents.calls.copy()
    for table in (host, calls):
        table["thread"] = of[table["thread"]] if len(table) else table["thread"]
    return replace(contents, host=host, calls=calls)


def tells_partners(contents: KinetoContents) -> bool:
    """Whether it is an export whose messages have partners."""
    return told_by_export(contents).get(PARTNERS) is True


def calls(contents: KinetoContents, groups: Groups, kind: int = CALL) -> Table:
    """The calls of one rank, those of Horovod's own thread, or the ends of requests."""
    rows = contents.calls[contents.calls["kind"] == kind]
    codes = np.full(len(contents.names), -1, np.int64)
    for place in np.unique(rows["name"]).tolist():
        operation = BY_NAME.get(contents.names[place])
        codes[place] = -1 if operation is None else operation.code
    rows = rows[codes[rows["name"]] >= 0]
    table = np.zeros(len(rows), OPERATION_DTYPE)
    for column in ("t0", "t1"):
        table[column] = rows[column]
    table["op"] = codes[rows["name"]]
    for column in ("sent", "received"):
        table[column] = np.maximum(rows[column], 0)
    numbers = np.array([thread.number(0) for thread in contents.threads] or [0], np.int64)
    table["tid"] = numbers[rows["thread"]]
    table["flags"] = rows["flags"]
    table["request"] = np.maximum(rows["calls"], 0)
    table["comm"] = np.array([*groups.of_file, -1], np.int64)[rows["group"]]
    ordered = IS_COLLECTIVE[table["op"]] & (table["comm"] >= 0)
    table["seq"] = np.where(ordered, np.maximum(rows["seq"], -1), -1)
    is_rank = ordered & (rows["root"] >= 0) & (rows["root"] < groups.world_size)
    table["peer"] = np.where(is_rank, rows["root"], PEER_NONE)
    if tells_partners(contents):
        _set_partners(table, rows, groups.world_size)
    if kind != REQUEST:
        one_at_a_time(table)
    return table[np.argsort(table["t0"], kind="stable")]


def _set_partners(table: Table, rows: Table, size: int) -> None:
    """What only exports tell: partners and tags of messages, and requests."""
    table["tag"] = np.maximum(rows["tag"], -1)
    joined = rows["calls"] > 0
    table["request"] = np.where(joined, table["request"], np.maximum(rows["request"], 0))
    peer, source = (_ranks(rows[name].astype(np.int64), size) for name in ("peer", "source"))
    source = np.where(EXCHANGES[table["op"]], source, peer)
    set_partners(table, peer, source, table["peer"], rows["received_tag"].astype(np.int64))


def _ranks(told: Ints, size: int) -> Ints:
    """Ranks, nobody, or unknown ones."""
    is_known = ((told >= 0) & (told < size)) | (told == PEER_PROC_NULL)
    return np.where(is_known, told, PEER_UNKNOWN)


def without_readiness(contents: KinetoContents, operations: Table) -> list[str]:
    """A word where Horovod's thread is there, and for how long others waited for it is not."""
    is_exposed = np.any(operations["op"] == HOROVOD_EXPOSED)
    if is_exposed or not np.any(contents.calls["kind"] == BACKGROUND):
        return []
    note = (
        f"{contents.path.name} holds the calls of Horovod's own thread, and not when tensors were "
        "ready for them: how long training waited for Horovod is not in its efficiencies."
    )
    return [note]
