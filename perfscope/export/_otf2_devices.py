"""What the accelerators of a rank did, one location a stream."""

from collections.abc import Callable

import _otf2
import numpy as np

from perfscope.dataframes.source import Source
from perfscope.export._otf2_archive import Archive, Group, Location, raise_error
from perfscope.export._otf2_events import Functions
from perfscope.export._otf2_regions import kernel_region
from perfscope.export._rows import Lanes
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Rank, Table


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
