"""Which locations of an OTF2 archive are which rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

UNDEFINED = 0xFFFFFFFF


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
    devices: list[str] = field(default_factory=list)
    stream_counts: list[int] = field(default_factory=list)  # by device
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

    Args:
        locations: as defined.
        groups: location groups as defined.
        nodes: nodes of the system tree: id, name, class, parent.
        world: ids of the locations of the MPI ranks, in their order; empty without MPI.
    """
    by_id = {group.id: group for group in groups}
    hosts = _hosts(groups, nodes)
    number_of, main = _numbers(locations, by_id, world)
    ranks = {
        number: RankPlaces(number, hosts.get(group, "")) for group, number in number_of.items()
    }
    devices: dict[int, int] = {}
    for location in locations:
        owner = _owner(location.group, by_id, number_of)
        if owner is None:
            continue
        rank = ranks[owner]
        if location.type == LocationType.ACCELERATOR_STREAM:
            _add_stream(rank, location, by_id, devices)
        elif location.type == LocationType.METRIC:
            rank.metrics.append(location)
        else:
            rank.threads.append(location)
    for rank in ranks.values():
        rank.threads.sort(
            key=lambda location: (location.id != main.get(rank.number), location.index)
        )
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


def _add_stream(
    rank: RankPlaces,
    location: Location,
    groups: Mapping[int, LocationGroup],
    devices: dict[int, int],
) -> None:
    """Numbers devices within a rank and streams within a device, in the order of definition."""
    if location.group not in devices:
        devices[location.group] = len(rank.devices)
        group = groups.get(location.group)
        is_own = group is not None and group.type == GroupType.ACCELERATOR
        rank.devices.append(group.name if group is not None and is_own else "")
        rank.stream_counts.append(0)
    device = devices[location.group]
    rank.streams.append((device, rank.stream_counts[device], location))
    rank.stream_counts[device] += 1


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
