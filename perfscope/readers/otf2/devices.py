"""What the accelerator locations of an OTF2 archive show, as Score-P writes CUDA and HIP."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from perfscope.engine import engine
from perfscope.readers.otf2.ranks import RankPlaces
from perfscope.readers.otf2.reduced import Reduced
from perfscope.readers.otf2.regions import ARTIFICIAL, COLLECTIVES, DATA_TRANSFER, KERNEL
from perfscope.trace.devices import (
    DEVICE_DTYPE,
    LAUNCH_UNKNOWN,
    DeviceActivity,
    DeviceInfo,
    DeviceKind,
)

STREAM_ROW = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("location", "u4"),
        ("region", "u4"),  # index of the region, NO_REGION of a copy
        ("bytes", "u8"),
        ("kind", "u1"),
    ]
)
NO_REGION = 0xFFFFFFFF
_COPY = re.compile("memcpy|copy", re.IGNORECASE)
_FILL = re.compile("memset|fill", re.IGNORECASE)


def device_activity(
    place: RankPlaces, reduced: Reduced, communication: Sequence[str] = ()
) -> DeviceActivity | None:
    """Kernels and copies of a rank's accelerators; None where no stream was recorded."""
    if not place.streams:
        return None
    tables = []
    for device, stream, location in place.streams:
        found = reduced.locations[location.index]["devices"].view(STREAM_ROW)
        found = found[[_is_work(reduced, region) for region in found["region"].tolist()]]
        rows = np.zeros(len(found), DEVICE_DTYPE)
        rows["t0"], rows["t1"] = found["t0"], found["t1"]
        rows["launch"], rows["correlation"] = LAUNCH_UNKNOWN, -1
        copies = found["region"] == NO_REGION
        rows["bytes"] = np.where(copies, np.minimum(found["bytes"], 1 << 62).astype(np.int64), -1)
        rows["seq"], rows["comm"], rows["op"] = -1, -1, -1
        rows["device"], rows["stream"] = device, stream
        if len(found):
            rows["name"] = np.where(
                copies, reduced.name("memcpy"), reduced.region_names(found["region"])
            )
            kinds = [_kind(reduced, region, communication) for region in found["region"].tolist()]
            rows["kind"] = np.array(kinds, np.uint16)
        tables.append(rows)
    table = np.concatenate(tables)
    return DeviceActivity(
        rows=table[np.argsort(table["t0"], kind="stable")],
        devices=tuple(DeviceInfo(n, name) for n, name in sorted(place.devices.items())),
        stream_names={(device, stream): loc.name for device, stream, loc in place.streams},
    )


def _communicates(kernel: str, globs: Sequence[str]) -> bool:
    """Whether a kernel is of a communication library, by its name, or one that the user names."""
    return engine.is_communication(kernel) or any(fnmatchcase(kernel, glob) for glob in globs)


def _is_work(reduced: Reduced, region: int) -> bool:
    """Whether it is a kernel or a copy and not a region in which the device is said to be idle."""
    known = region < len(reduced.regions)
    return not (known and reduced.regions[region].role == ARTIFICIAL)


def _kind(reduced: Reduced, region: int, communication: Sequence[str]) -> DeviceKind:
    if region == NO_REGION:
        return DeviceKind.MEMCPY
    known = region < len(reduced.regions)
    name, role = (reduced.regions[region].name, reduced.regions[region].role) if known else ("", 0)
    if role in COLLECTIVES or _communicates(name, communication):
        return DeviceKind.COMMUNICATION
    if role != KERNEL and _FILL.search(name):
        return DeviceKind.MEMSET
    is_copy = role == DATA_TRANSFER or (role != KERNEL and _COPY.search(name))
    return DeviceKind.MEMCPY if is_copy else DeviceKind.COMPUTE
