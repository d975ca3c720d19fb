"""Device rows of Kineto files in the numbering of the whole trace: names, groups, sequence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfscope.readers.kineto_file import KinetoContents
from perfscope.readers.kineto_host import HostTables, step_at
from perfscope.trace.devices import (
    LAUNCH_UNKNOWN,
    RUNTIME_DTYPE,
    DeviceActivity,
    DeviceInfo,
    DeviceKind,
)
from perfscope.trace.model import Communicator, Table

MOST_DEVICES = 1024
PER_STEP = 1 << 20
"""More collectives of one group in a step than there are."""


class Groups:
    """Communicators of the process groups, by name; the first one is the world."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.communicators = [Communicator(0, tuple(range(world_size)), -1)]
        self._by_name: dict[str, int] = {}
        self._by_members: dict[tuple[str, tuple[int, ...]], int] = {}

    def learn(self, distributed: Mapping[str, Any]) -> None:
        """Takes the process groups that one rank names."""
        self._by_name = {}
        config = distributed.get("pg_config")
        for group in config if isinstance(config, Sequence) else ():
            if not isinstance(group, Mapping):
                continue
            members = _members(group.get("ranks"), self.world_size)
            if members:
                self._by_name[str(group.get("pg_name", ""))] = self._index(group, members)

    def _index(self, group: Mapping[str, Any], members: tuple[int, ...]) -> int:
        key = (str(group.get("pg_name", "")), members)
        if len(members) == self.world_size and 0 not in self._by_members.values():
            self._by_members.setdefault(key, 0)
        if key not in self._by_members:
            digest = hashlib.blake2b(repr(key).encode(), digest_size=7).digest()
            self._by_members[key] = len(self.communicators)
            self.communicators.append(Communicator(int.from_bytes(digest, "little"), members, 0))
        return self._by_members[key]

    def index(self, name: str, size: int) -> int:
        """The communicator of a group of the rank that was learnt last; -1 unknown."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        if size not in (0, self.world_size) or (name and self._by_name):
            return -1
        return self.only

    @property
    def only(self) -> int:
        """The communicator of collectives that name none: the world, if there is no other."""
        wide = set(self._by_name.values())
        return 0 if not wide or wide == {0} else -1


def _members(ranks: object, world_size: int) -> tuple[int, ...]:
    if not isinstance(ranks, Sequence) or isinstance(ranks, str) or len(ranks) > world_size:
        return ()
    members = tuple(rank for rank in ranks if type(rank) is int and 0 <= rank < world_size)
    return members if len(set(members)) == len(ranks) else ()


def device_activity(
    contents: KinetoContents, host: HostTables, numbers: np.ndarray[Any, Any], groups: Groups
) -> DeviceActivity | None:
    """The devices of one rank; None where neither a device nor its runtime was recorded.

    Args:
        contents: the file.
        host: its host, whose steps number the collectives.
        numbers: the trace's number of each name of the file.
        groups: the process groups of this rank.
    """
    rows = contents.device
    if not len(rows) and not len(host.runtime):
        return None
    runtime = np.zeros(len(host.runtime), RUNTIME_DTYPE)
    for column in ("t0", "t1"):
        runtime[column] = host.runtime[column]
    runtime["name"] = numbers[host.runtime["name"]] if len(runtime) else 0
    if len(rows):
        _group(rows, contents, groups)
        _number(rows, host.steps)
        rows["name"] = numbers[rows["name"]]
        rows["op"] = np.where(rows["op"] >= 0, numbers[np.maximum(rows["op"], 0)], -1)
    used = set(np.unique(rows["device"]).tolist())
    return DeviceActivity(
        rows=rows,
        devices=[device for device in _infos(contents) if device.number in used],
        runtime=runtime,
        stream_names={},
    )


def _infos(contents: KinetoContents) -> list[DeviceInfo]:
    found = []
    properties = contents.members.get("deviceProperties")
    for device in properties[:MOST_DEVICES] if isinstance(properties, list) else ():
        if isinstance(device, Mapping) and type(device.get("id")) is int:
            memory = device.get("totalGlobalMem")
            major, minor = device.get("computeMajor"), device.get("computeMinor")
            found.append(
                DeviceInfo(
                    device["id"],
                    str(device.get("name", ""))[:200],
                    memory if type(memory) is int and memory > 0 else 0,
                    (major, minor) if type(major) is int and type(minor) is int else None,
                )
            )
    return found


def _group(rows: Table, contents: KinetoContents, groups: Groups) -> None:
    """Process groups, which the engine gives as names, become communicators of the trace."""
    chosen = np.flatnonzero(rows["kind"] == DeviceKind.COMMUNICATION)
    pairs = np.unique(np.stack([rows["comm"][chosen], rows["members"][chosen]], 1), axis=0)
    table = {
        (name, size): groups.index(contents.names[name] if name >= 0 else "", size)
        for name, size in pairs.tolist()
    }
    keys = zip(rows["comm"][chosen].tolist(), rows["members"][chosen].tolist(), strict=True)
    rows["comm"][chosen] = [table[key] for key in keys]


def _number(rows: Table, steps: Table) -> None:
    """Ordinals of collectives where NCCL gave none: by step, and in a step by start.

    So calls are matched also where the ranks' profiles do not begin with the same call.
    """
    chosen = np.flatnonzero((rows["kind"] == DeviceKind.COMMUNICATION) & (rows["comm"] >= 0))
    if np.all(rows["seq"][chosen] >= 0):
        return
    launch = rows["launch"][chosen]
    moment = np.where(launch == LAUNCH_UNKNOWN, rows["t0"][chosen], launch)
    rows["seq"][chosen] = ordinals(rows["comm"][chosen], step_at(steps, moment))


def ordinals(groups: np.ndarray[Any, Any], steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers rows that are in order of time: those of one group and step follow each other."""
    order = np.lexsort((np.arange(len(groups)), steps, groups))
    key = np.stack([groups[order], steps[order]], 1)
    first = np.ones(len(order), np.bool_)
    first[1:] = np.any(key[1:] != key[:-1], axis=1)
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    result = np.empty(len(order), np.int64)
    within = np.minimum(np.arange(len(order)) - start, PER_STEP - 1)
    known = np.minimum(np.maximum(steps[order] + 1, 0), 1 << 40)
    result[order] = known * PER_STEP + within
    return result
