"""What accelerators did, as a trace knows it: one row for each kernel, copy or fill.

The rows come from a GPU profiler (Kineto) or from the accelerator locations of an OTF2 archive.
Everything derived from them (unions, idle time, efficiencies) belongs to the metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.void]


class DeviceKind(IntEnum):
    """What a device did; the codes are those of the trace engine."""

    COMPUTE = 0  # a kernel
    COMMUNICATION = 1  # a kernel of NCCL, RCCL, HCCL or oneCCL
    MEMCPY = 2
    MEMSET = 3


LAUNCH_UNKNOWN = np.iinfo(np.int64).min
"""`launch` of a row of which the trace does not hold the call that launched it."""

DEVICE_DTYPE = np.dtype(
    [
        ("t0", "i8"),  # ns on the clock of the trace
        ("t1", "i8"),
        ("launch", "i8"),  # when the host's call that launched it began, or LAUNCH_UNKNOWN
        ("correlation", "i8"),  # number that joins it with its launch, -1 none
        ("bytes", "i8"),  # moved by it, -1 unknown
        ("seq", "i8"),  # ordinal of a collective on its communicator, -1 none
        ("name", "i4"),  # index in Trace.names
        ("device", "i4"),  # number of the device in its host
        ("stream", "i4"),
        ("comm", "i4"),  # index in Trace.communicators of a collective, -1 none
        ("op", "i4"),  # index in Trace.names of the collective's name, -1 none
        ("kind", "u4"),  # DeviceKind
        ("flags", "u4"),  # RowFlag
        ("members", "u4"),  # ranks that a collective has, 0 unknown
    ]
)
RUNTIME_DTYPE = np.dtype([("t0", "i8"), ("t1", "i8"), ("name", "i4")])


@dataclass(frozen=True)
class DeviceInfo:
    """One accelerator as the trace describes it."""

    number: int
    name: str = ""  # as the vendor calls it, "" unknown
    memory_bytes: int = 0  # 0 unknown


def no_activity() -> Table:
    """A device table without rows."""
    return np.empty(0, dtype=DEVICE_DTYPE)


@dataclass
class DeviceActivity:
    """What the accelerators of one rank did, and over which time they were watched."""

    rows: Table = field(default_factory=no_activity)
    """One row for each kernel, copy or fill, of dtype DEVICE_DTYPE, sorted by t0."""
    devices: Sequence[DeviceInfo] = ()
    """The devices of the rank; those without any row were watched and idle."""
    runtime: Table = field(default_factory=lambda: np.empty(0, dtype=RUNTIME_DTYPE))
    """Calls of the device's runtime on the main thread (launches, copies, waits), sorted by t0."""
    stream_names: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """By (device, stream), where the trace names them."""
    watched: tuple[int, int] | None = None
    """From when to when, where that is only a part of the rank's life; None: all of it."""

    def covers(self, start_ns: int, end_ns: int) -> bool:
        """Whether the devices were watched from start to end."""
        return self.watched is None or (self.watched[0] <= start_ns and end_ns <= self.watched[1])

    @property
    def without_launch(self) -> int:
        """Rows of which the trace does not hold the launch."""
        return int(np.count_nonzero(self.rows["launch"] == LAUNCH_UNKNOWN))

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of all devices, those known by name and those seen at work."""
        known = {device.number for device in self.devices}
        return tuple(sorted(known | set(np.unique(self.rows["device"]).tolist())))
