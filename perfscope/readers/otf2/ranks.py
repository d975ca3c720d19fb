"""Which locations of an OTF2 archive are which rank."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from itertools import count

from perfscope.structures import dataclass

_STREAM = re.compile(r"(\w[^\[\]]*)\[([0-9]{1,4}):[0-9]+\]", re.ASCII)


class LocationType(IntEnum):
    """OTF2_LocationType."""

    UNKNOWN = 0
    CPU_THREAD = 1
    ACCELERATOR_STREAM = 2
    METRIC = 3


class GroupType(IntEnum):
    """OTF2_LocationGroupType."""

    UNKNOWN = 0
    PROCESS = 1
    ACCELERATOR = 2


@dataclass(frozen=True)
class Location:
    """A location as the archive defines it; `index` is its place among the definitions."""

    index: int
    id: int
    name: str
    type: int
    events: int
    group: int

    @property
    def tid(self) -> int:
        """What rows of the trace call it."""
        return self.index + 1


@dataclass(frozen=True)
class LocationGroup:
    """A process or an accelerator."""

    id: int
    name: str
    type: int
    node: int
    creator: int


@dataclass
class RankPlaces:
    """The locations of one rank."""

    number: int
    host: str
    threads: list[Location] = field(default_factory=list)  # the main one first
    streams: list[tuple[int, int, Location]] = field(default_factory=list)  # device, stream
    devices: dict[int, str] = field(default_factory=dict)  # names by number
    metrics: list[Location] = field(default_factory=list)


@dataclass(frozen=True)
class Places:
    """All ranks, and the groups that belong to none."""

    ranks: tuple[RankPlaces, ...]
    others: tuple[str, ...]


def find_ranks(
    locations: Sequence[Location],
    groups: Sequence[LocationGroup],
    nodes: Sequence[tuple[int, str, str, int]],
    world: Sequence[int],
) -> Places:
    """Finds the ranks of an archive.

    Nodes of the system tree are id, name, class and parent; `world` has the ids of the locations of
    the MPI ranks, in their order, and is empty without MPI.
    """
    by_id = {group.id: group for group in groups}
    hosts = _hosts(groups, nodes)
    number_of, main = _numbers(locations, by_id, world)
    ranks = {
        number: RankPlaces(number, hosts.get(group, "")) for group, number in number_of.items()
    }
    streams: dict[int, list[Location]] = {}
    for location in locations:
        owner = _owner(location.group, by_id, number_of)
        if owner is None:
            continue
        rank = ranks[owner]
        if location.type == LocationType.ACCELERATOR_STREAM:
            streams.setdefault(owner, []).append(location)
        elif location.type == LocationType.METRIC:
            rank.metrics.append(location)
        else:
            rank.threads.append(location)
    for rank in ranks.values():
        rank.threads.sort(
            key=lambda location: (location.id != main.get(rank.number), location.index)
        )
        _number_devices(rank, streams.get(rank.number, []), by_id)
    found = tuple(rank for _, rank in sorted(ranks.items()) if rank.threads)
    lost = [group for group in groups if _owner(group.id, by_id, number_of) is None]
    return Places(found, tuple(group.name or f"group {group.id}" for group in lost))


def _numbers(
    locations: Sequence[Location], groups: Mapping[int, LocationGroup], world: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """The rank of each process group, and the id of the main location of each rank."""
    group_of = {location.id: location.group for location in locations}
    numbers: dict[int, int] = {}
    main: dict[int, int] = {}
    for number, location in enumerate(world):
        group = group_of.get(location)
        if group is not None and group not in numbers:
            numbers[group] = number
            main[number] = location
    if not numbers:
        working = {loc.group for loc in locations if loc.type == LocationType.CPU_THREAD}
        processes = [group for group in groups if group in working]
        numbers = {group: number for number, group in enumerate(processes)}
    return numbers, main


def _owner(
    group: int, groups: Mapping[int, LocationGroup], numbers: Mapping[int, int]
) -> int | None:
    """The rank of a group or of the one that created it."""
    if group in numbers:
        return numbers[group]
    known = groups.get(group)
    if known is None or known.type != GroupType.ACCELERATOR:
        return None
    return numbers.get(known.creator)


def _number_devices(
    rank: RankPlaces, streams: Sequence[Location], groups: Mapping[int, LocationGroup]
) -> None:
    """Tells the devices of a rank's streams, and numbers streams in the order of definition.

    A stream is named after its device, and the group that it is in may be the process, or one of
    several contexts on that device. Where the name tells nothing, each group is a device.
    """
    numbers: dict[tuple[str, int], int] = {}
    told = [_told_device(location) for location in streams]
    for key in (key for key in told if key is not None):
        if key not in numbers and key[1] not in numbers.values():
            numbers[key] = key[1]
    counts: dict[int, int] = {}
    for location, device in zip(streams, told, strict=True):
        key = ("", location.group) if device is None else device
        if key not in numbers:
            numbers[key] = next(n for n in count() if n not in numbers.values())
        number, group = numbers[key], groups.get(location.group)
        is_own = group is not None and group.type == GroupType.ACCELERATOR
        rank.devices.setdefault(number, group.name if group is not None and is_own else "")
        stream = counts.get(number, 0)
        counts[number] = stream + 1
        rank.streams.append((number, stream, location))


def _told_device(location: Location) -> tuple[str, int] | None:
    """Interface and device in the name of a stream, as Score-P writes it: `CUDA[0:7]`."""
    found = _STREAM.fullmatch(location.name)
    return (found[1], int(found[2])) if found else None


def _hosts(
    groups: Sequence[LocationGroup], nodes: Sequence[tuple[int, str, str, int]]
) -> dict[int, str]:
    """The name of the node that each group runs on."""
    tree = {node: (name, kind, parent) for node, name, kind, parent in nodes}
    hosts: dict[int, str] = {}
    for group in groups:
        place, seen = group.node, set[int]()
        while place in tree and place not in seen:
            seen.add(place)
            name, kind, parent = tree[place]
            hosts.setdefault(group.id, name)
            if kind == "node":
                hosts[group.id] = name
                break
            place = parent
    return hosts
