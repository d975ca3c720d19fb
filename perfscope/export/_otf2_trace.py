"""A whole trace as an OTF2 archive, rank after rank."""

import json
from collections.abc import Callable
from pathlib import Path

import _otf2
import numpy as np

import perfscope
from perfscope.dataframes.source import Source
from perfscope.export._otf2_archive import Archive, Failures, Group, Location, raise_error
from perfscope.export._otf2_events import Functions, Life, ThreadWriter
from perfscope.export._otf2_metrics import Metrics
from perfscope.export._otf2_regions import (
    kernel_region,
    operation_region,
    phase_region,
    step_region,
)
from perfscope.export._otf2_rows import ATTRIBUTES, RankTables, RegionNumbers, members_of
from perfscope.export._rows import Lanes, thread_names
from perfscope.export._source import facts_of, with_exposed_source
from perfscope.readers.common.exported import KEY
from perfscope.schema.enums import EndKind
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Communicator, Rank, RowFlag, Table, Trace
from perfscope.trace.operations import MAX_OPERATIONS


class Devices:
    """Writes kernels, copies and fills; their regions are defined when they first occur."""

    def __init__(
        self, source: Source, archive: Archive, functions: Functions, base_ns: int
    ) -> None:
        self._source, self._archive = source, archive
        self._functions, self._base_ns = functions, base_ns
        self._regions: dict[tuple[int, DeviceKind], int] = {}

    def write(self, rank: Rank, group: int) -> None:
        """Writes the streams of a rank; each device is a group of its own, made by the rank's."""
        if rank.devices is None or not len(rank.devices.rows):
            return
        rows = rank.devices.rows
        names = {device.number: device.name for device in rank.devices.devices}
        for device in np.unique(rows["device"]).tolist():
            place = self._group(names.get(device) or f"device {device}", group)
            of_device = rows[rows["device"] == device]
            for stream in np.unique(of_device["stream"]).tolist():
                name = rank.devices.stream_names.get((device, stream), f"stream {stream}")
                mine = of_device[of_device["stream"] == stream]
                self._stream(mine, f"device {device} {name}", place)

    def _group(self, name: str, creator: int) -> int:
        groups = self._archive.definitions.groups
        groups.append(Group(name, groups[creator].host, creator))
        return len(groups) - 1

    def _stream(self, rows: Table, name: str, group: int) -> None:
        rows = rows[np.lexsort((-rows["t1"], rows["t0"]))]
        lanes, locations = Lanes(), list[Location]()
        open_rows: list[list[tuple[int, int]]] = []
        columns = (rows[key].tolist() for key in ("t0", "t1", "name", "kind"))
        for start, told_end, label, kind in zip(*columns, strict=True):
            end = max(start, told_end)
            lane = lanes.lane(start, end)
            if lane == len(locations):
                title = name + (f" (overlapping {lane})" if lane else "")
                locations.append(self._location(title, group))
                open_rows.append([])
            self._leave(locations[lane], open_rows[lane], start)
            region = self._region(label, DeviceKind(kind))
            self._event(self._functions.enter, locations[lane], start, region)
            open_rows[lane].append((end, region))
        for location, stack in zip(locations, open_rows, strict=True):
            self._leave(location, stack, None)
            self._archive.close_location(location)

    def _location(self, name: str, group: int) -> Location:
        kind = _otf2.LocationType.ACCELERATOR_STREAM
        location = self._archive.location(name, kind, group)
        self._archive.open_location(location)
        return location

    def _leave(self, location: Location, stack: list[tuple[int, int]], until: int | None) -> None:
        while stack and (until is None or stack[-1][0] <= until):
            end, region = stack.pop()
            self._event(self._functions.leave, location, end, region)

    def _event(self, write: Callable[..., int], location: Location, at: int, region: int) -> None:
        time = at + self._base_ns
        self._archive.tell_time(time)
        if failed := write(location.writer, None, time, region):
            raise_error(failed)
        location.events += 1

    def _region(self, name: int, kind: DeviceKind) -> int:
        key = name, kind
        if key not in self._regions:
            regions = self._archive.definitions.regions
            self._regions[key] = len(regions)
            regions.append(kernel_region(self._source.trace.names[name], kind))
        return self._regions[key]


_TABLES = ("operations", "background", "completions", "phases", "steps")
_SERIES = ("process_samples", "system_samples", "node_samples", "metrics", "counters")


def write_archive(source: Source, output: Path) -> list[str]:
    """Writes the archive; returns what it could not hold."""
    output.mkdir()
    source = with_exposed_source(source)
    failures = Failures()
    try:
        return _write(source, output)
    finally:
        failures.stop()


def _write(source: Source, output: Path) -> list[str]:
    beside = json.dumps({KEY: facts_of(source)})
    archive = Archive(output, creator=f"perfscope {perfscope.__version__}", description=beside)
    try:
        writer = _TraceWriter(source, archive)
        for position in range(len(source.trace.ranks)):
            writer.write_rank(position)
        archive.close(is_wall_clock=writer.is_wall_clock)
    finally:
        archive.abandon()
    return writer.notes()


class _TraceWriter:
    """What all ranks share."""

    def __init__(self, source: Source, archive: Archive) -> None:
        trace = source.trace
        self._source, self._archive = source, archive
        self._functions = Functions()
        earliest = min((_earliest(rank) for rank in trace.ranks), default=0)
        self.is_wall_clock = trace.origin_unix_ns + earliest >= 0 and trace.origin_unix_ns > 0
        self._base_ns = trace.origin_unix_ns if self.is_wall_clock else max(0, -earliest)
        archive.definitions.attributes.extend(ATTRIBUTES)
        self._regions = self._define_regions()
        self._mains = self._define_ranks()
        communicators = trace.communicators or [Communicator(1, tuple(self._mains), -1)]
        for number, communicator in enumerate(communicators):
            name = f"communicator {number}" if number else "world"
            told = (name, communicator.members, communicator.parent)
            archive.definitions.communicators.append(told)
        self._members = members_of(communicators)
        self._metrics = Metrics(archive, self._base_ns)
        self._devices = Devices(source, archive, self._functions, self._base_ns)
        self._unheld = 0

    def notes(self) -> list[str]:
        """What the archive could not hold."""
        if not self._unheld:
            return []
        why = "the partner or the communicator is not known"
        return [f"{self._unheld} calls were written without their message or collective: {why}."]

    def write_rank(self, position: int) -> None:
        """Writes a rank: its threads, its accelerators, its counters."""
        rank = self._source.trace.ranks[position]
        tables = RankTables(self._source, position, self._regions, self._members)
        for tid, name in thread_names(self._source, position, tables.rows).items():
            writer = ThreadWriter(
                self._archive,
                self._functions,
                tables,
                lambda lane, tid=tid, name=name: self._lane(rank, tid, name, lane),  # type: ignore[misc]
                self._base_ns,
                self._life(rank) if tid == rank.main_tid else None,
            )
            writer.write(tables.of_thread(tid))
            self._unheld += writer.unheld
        group = self._mains[rank.number].group
        self._devices.write(rank, group)
        self._metrics.write(self._source.trace, rank, group)

    def _life(self, rank: Rank) -> Life:
        texts = [self._archive.text(word) for word in self._source.trace.command or ("",)]
        code = rank.ending.code if rank.ending.kind is EndKind.EXITED else None
        return Life(self._functions, texts, rank.start_ns, rank.end_ns, code)

    def _lane(self, rank: Rank, tid: int, name: str, lane: int) -> Location:
        main = self._mains[rank.number]
        if tid == rank.main_tid and lane == 0:
            main.name = f"{name} {tid}"
            return main
        label = f"{name} {tid}" + (f" (overlapping {lane})" if lane else "")
        return self._archive.location(label, _otf2.LocationType.CPU_THREAD, main.group)

    def _define_regions(self) -> RegionNumbers:
        regions = self._archive.definitions.regions
        ids = self._source.prepared.catalog.ids
        used = np.zeros(MAX_OPERATIONS, np.bool_)
        for rank in self._source.trace.ranks:
            used[rank.operations["op"]] = used[rank.background["op"]] = True
        operations = np.full(MAX_OPERATIONS, -1, np.int64)
        for code in np.flatnonzero(used).tolist():
            operations[code] = len(regions)
            regions.append(operation_region(code))
        phases, sampled = (np.full(len(ids), -1, np.int64) for _ in range(2))
        for numbers, labels, is_sampled in (
            (phases, self._labels(is_sampled=False), False),
            (sampled, self._sampled(), True),
        ):
            for label in labels:
                numbers[label] = len(regions)
                regions.append(phase_region(ids[label], sampled=is_sampled))
        step = len(regions)
        if any(len(rank.steps) for rank in self._source.trace.ranks):
            regions.append(step_region())
        return RegionNumbers(phases, sampled, operations, step)

    def _labels(self, *, is_sampled: bool) -> list[int]:
        """Which phases of the catalog were told, or sampled, by rows of ranks."""
        trace, catalog = self._source.trace, self._source.prepared.catalog
        chosen = [
            rank.phases[(rank.phases["flags"] & RowFlag.SAMPLED > 0) == is_sampled]
            for rank in trace.ranks
        ]
        labels = [catalog.of_rows(trace, rows) for rows in chosen]
        return sorted(set(np.concatenate([np.empty(0, np.int64), *labels]).tolist()))

    def _sampled(self) -> list[int]:
        """Which phases of the catalog were found by the stack sampler."""
        labels = [part.samples.phase_rows[2] for part in self._source.prepared.parts]
        found = set(np.concatenate([np.empty(0, np.int64), *labels]).tolist())
        return sorted(found | set(self._labels(is_sampled=True)))

    def _define_ranks(self) -> dict[int, Location]:
        """The main location of every rank of the job, the first ones of the archive."""
        trace, known = self._source.trace, self._archive.definitions
        recorded = {rank.number: rank for rank in trace.ranks}
        hosts: dict[str, int] = {}
        mains = {}
        for number in range(_world_size(trace)):
            rank = recorded.get(number)
            host = hosts.setdefault(rank.host if rank else "host not known", len(hosts))
            note = "" if rank else " (not recorded)"
            known.groups.append(Group(f"MPI Rank {number}{note}", host))
            kind = _otf2.LocationType.CPU_THREAD
            mains[number] = self._archive.location(f"main{note}", kind, number)
        known.hosts = list(hosts)
        known.world = [location.number for location in mains.values()]
        return mains


def _world_size(trace: Trace) -> int:
    members = (max(group.members, default=-1) for group in trace.communicators)
    numbers = (rank.number for rank in trace.ranks)
    return max(trace.world_size, 1 + max([-1, *members, *numbers]))


def _earliest(rank: Rank) -> int:
    moments = [rank.start_ns]
    for name in _TABLES:
        moments += getattr(rank, name)["t0"][:1].tolist()
    for name in _SERIES:
        moments += getattr(rank, name)["t"][:1].tolist()
    if rank.devices is not None:
        moments += rank.devices.rows["t0"][:1].tolist()
    return min(moments)
