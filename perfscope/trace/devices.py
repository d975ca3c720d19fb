"""What accelerators did, as a trace knows it: one row for each kernel, copy or fill.

The rows come from a GPU profiler (Kineto) or from the accelerator locations of an OTF2 archive.
Everything derived from them (unions, idle time, efficiencies) belongs to the metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum, IntFlag

import numpy as np
import numpy.typing as npt

from perfscope.structures import dataclass

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
GPU_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("gpu", "i4"),  # index in Trace.gpus
        ("busy", "f4"),  # share of the driver's last interval in which a kernel ran, NaN unknown
        ("memory_busy", "f4"),  # the same of reads and writes of its memory, NaN unknown
        ("memory_bytes", "i8"),  # in use by all, 0 unknown
        ("sm_mhz", "f4"),  # clock of its processors, NaN unknown
        ("memory_mhz", "f4"),  # NaN unknown
        ("power_w", "f4"),  # NaN unknown
        ("celsius", "f4"),  # NaN unknown
        ("throttling", "i8"),  # Throttling bits, or REASONS_UNKNOWN
    ]
)
"""What the driver said of a GPU at one moment."""
GPU_PROCESS_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("gpu", "i4"),  # index in Trace.gpus
        ("pid", "i8"),  # that computes on it
        ("memory_bytes", "i8"),  # of the GPU's memory, 0 unknown
    ]
)
RUNTIME_DTYPE = np.dtype([("t0", "i8"), ("t1", "i8"), ("name", "i4")])


@dataclass(frozen=True)
class DeviceInfo:
    """One accelerator as the trace describes it."""

    number: int
    name: str = ""  # as the vendor calls it, "" unknown
    memory_bytes: int = 0  # 0 unknown
    capability: tuple[int, int] | None = None  # of CUDA, major and minor


class Throttling(IntFlag):
    """Why a GPU's clocks are lower than they could be; the bits are NVML's."""

    IDLE = 0x1
    APPLICATION_CLOCKS = 0x2
    POWER_CAP = 0x4
    HARDWARE_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SOFTWARE_THERMAL = 0x20
    HARDWARE_THERMAL = 0x40
    POWER_BRAKE = 0x80
    DISPLAY_CLOCKS = 0x100


HEAT = Throttling.SOFTWARE_THERMAL | Throttling.HARDWARE_THERMAL
POWER = Throttling.POWER_BRAKE | Throttling.HARDWARE_SLOWDOWN
FAULTS = HEAT | POWER
"""A GPU at its own power limit (POWER_CAP) works as it is built to: no fault."""

REASONS_UNKNOWN = 1 << 62
"""Instead of Throttling bits: the driver does not tell them."""


@dataclass(frozen=True)
class Gpu:
    """A GPU of a node, or an instance of a divided one (MIG), that was sampled during the run."""

    host: str  # where it is
    uuid: str  # its name in the whole world: GPU-... or MIG-...
    index: int = -1  # as the driver counts (in the order of the bus), -1 unknown
    name: str = ""  # as the vendor calls it, "" unknown
    board: str = ""  # uuid of the divided GPU that it is an instance of, "" none
    driver: str = ""  # version, "" unknown
    capability: tuple[int, int] | None = None  # of CUDA, None unknown
    memory_bytes: int = 0  # in all, 0 unknown
    sm_mhz: float | None = None  # highest clock of its processors, None unknown
    power_w: float | None = None  # limit of its power, None unknown
    is_lost: bool = False  # whether it was gone before the run was over


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
    clock_reason: str = ""
    """Why its times cannot be set beside those of the host, "" where they can."""
    clock_shift_ns: int = 0  # by how much at least the two are apart, with such a reason

    def covers(self, start_ns: int, end_ns: int) -> bool:
        """Whether the devices were watched from start to end."""
        return self.watched is None or (self.watched[0] <= start_ns and end_ns <= self.watched[1])

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def without_launch(self) -> int:
        """Rows of which the trace does not hold the launch."""
        return int(np.count_nonzero(self.rows["launch"] == LAUNCH_UNKNOWN))

    @property
    def seen(self) -> tuple[int, ...]:
        """Numbers of the devices that the rows are of."""
        return tuple(np.unique(self.rows["device"]).tolist())

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of all devices, those known by name and those seen at work."""
        known = {device.number for device in self.devices}
        return tuple(sorted(known.union(self.seen)))
