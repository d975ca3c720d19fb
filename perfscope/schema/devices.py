"""Accelerators and hardware counters."""

from typing import Literal

from perfscope.schema.common import Metric, Series
from perfscope.schema.enums import Direction
from perfscope.structures import dataclass


@dataclass(frozen=True)
class GpuMemoryOfRank:
    """Memory that one rank had at the peak of a GPU."""

    rank: int
    bytes: int


@dataclass(frozen=True)
class GpuSeries:
    """What the driver said of a GPU over time."""

    busy: Series
    memory_bytes: Series
    power_w: Series
    sm_mhz: Series


@dataclass(frozen=True)
class Gpu:
    """One GPU over the focus, as its driver told."""

    host: str
    uuid: str
    index: int
    name: str
    board: str  # of an instance, empty else
    driver: str
    capability: str | None
    is_lost: bool
    ranks: tuple[int, ...]
    known_by: str  # what told which ranks use it
    samples: int
    watched_s: float
    busy: float | None  # share of time; null where not told, as what follows
    memory_busy: float | None  # share of time; null where not told, as what follows
    memory_total_bytes: int | None
    memory_peak_bytes: int | None
    memory_peak_phase: str
    memory_peak_bytes_by_rank: tuple[GpuMemoryOfRank, ...]
    sm_mhz: float | None  # mean while busy
    sm_mhz_most: float | None
    power_w: float | None
    power_limit_w: float | None
    celsius_most: float | None
    throttled: dict[str, float]  # share of the busy samples, by reason
    series: GpuSeries


@dataclass(frozen=True)
class SampledGpus:
    """What the driver said while the job ran; `value` is the mean share of time with a kernel."""

    value: float | None
    reason: str | None
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True)
class DeviceFactors:
    """Efficiencies of the devices by one convention."""

    # `load_balance` x `communication_efficiency` x `orchestration_efficiency`
    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    orchestration_efficiency: Metric


@dataclass(frozen=True)
class DeviceEfficiencies:
    """`bsc` counts communication kernels as communication, `talp` as work."""

    bsc: DeviceFactors
    talp: DeviceFactors


@dataclass(frozen=True)
class HostCopies:
    """Copies between host and device of one direction."""

    direction: Direction  # `unknown` where the trace does not tell
    pageable: bool | None  # null unknown
    count: int
    bytes: int
    seconds: float  # union
    exposed_s: float  # no kernel ran


@dataclass(frozen=True)
class Stream:
    """One stream: when it was busy, and what lay in its gaps."""

    stream: int
    rows: int
    busy_s: float
    host_wait_s: float  # gaps
    kernel_wait_s: float  # gaps
    other_s: float  # gaps
    edge_s: float  # before the first and after the last row


@dataclass(frozen=True)
class Device:
    """One device of a rank over the focus; times are unions."""

    rank: int
    device: int
    name: str
    busy_s: float
    idle_s: float
    compute_s: float
    communication_s: float
    memcpy_s: float
    memset_s: float
    exposed_communication_s: float  # nothing computes
    exposed_memory_s: float  # no kernel runs
    overlap: float | None  # share of communication that computation hides, null without
    compute_kernels: int  # rows that begin in the focus
    communication_kernels: int  # rows that begin in the focus
    copies: int  # rows that begin in the focus
    fills: int  # rows that begin in the focus
    capability: str | None  # of CUDA, null unknown
    # idle time by account of the ledger of the rank's main location
    idle_s_by_host: dict[str, float]
    # why the trace tells nothing of it (the clocks of device and host disagree), else null
    idle_reason: str | None
    # the same by what the next work waited for ([gpu.md](gpu.md))
    idle_s_by_cause: dict[str, float]
    host_copies: tuple[HostCopies, ...]
    streams: tuple[Stream, ...]


@dataclass(frozen=True)
class DeviceStep:
    """The same unions inside one step."""

    rank: int
    device: int
    number: int  # of the step, between the host's ends of it
    busy_s: float
    idle_s: float
    compute_s: float
    communication_s: float
    memcpy_s: float
    memset_s: float
    exposed_communication_s: float
    exposed_memory_s: float
    overlap: float | None


KernelKind = Literal["compute", "communication", "memcpy", "memset"]


@dataclass(frozen=True)
class Kernel:
    """Kernels of one name and kind, over all ranks.

    `launch_delay_s` is the mean time from launch to start, null where no launch is known.
    """

    name: str
    kind: KernelKind
    count: int
    seconds: float
    least_s: float
    most_s: float
    bytes: int
    launch_delay_s: float | None


@dataclass(frozen=True)
class Matrices:
    """Seconds in kernels that multiply matrices, by their names."""

    single_precision_s: float  # without tensor cores
    tensor_cores_s: float  # with them


@dataclass(frozen=True)
class DeviceCommunicationOfRank:
    """Communication kernels of one rank."""

    rank: int
    seconds: float
    wait_s: float
    transfer_s: float
    last: int  # times the rank was last to begin
    longest_wait_s: float


@dataclass(frozen=True)
class DeviceCommunication:
    """Communication kernels matched over ranks."""

    reason: str | None  # why waiting is not known, else null
    matched: int  # collectives
    unmatched: int  # kernels without partner, or of calls that do not wait for all ranks
    end_spread_s: float | None  # 99 % of collectives: how far apart their kernels end
    ranks: tuple[DeviceCommunicationOfRank, ...]


@dataclass(frozen=True)
class Devices:
    """What a profiler saw of accelerators; `value` is the device parallel efficiency."""

    value: float | None
    reason: str | None
    formula: Literal["bsc"]  # the convention of `value`
    window_s: tuple[float, float]  # over which time everything but `sampled` is
    is_part: bool  # a profiler watched only this part of the focus
    sampled: SampledGpus
    efficiency: DeviceEfficiencies
    # the hosts' work outside communication over the same plus their calls of the devices' runtime
    offload_efficiency: Metric
    devices: tuple[Device, ...]
    steps: tuple[DeviceStep, ...]
    kernels: tuple[Kernel, ...]  # at most 100, most seconds first
    kernels_left_out: int
    matrices: Matrices
    communication: DeviceCommunication
    launch_delay_s_median: tuple[float | None, ...]  # by rank with a device, from launch to start
    kernel_wait_below_s: float  # the longest gap that counts as kernel wait
    unlinked_rows: int  # rows whose launch is not in the trace


@dataclass(frozen=True)
class NoProfile:
    """Why no profiler watched an accelerator, and what was sampled."""

    value: None
    reason: str
    sampled: SampledGpus


@dataclass(frozen=True)
class PopFactors:
    """The efficiencies of one tool's formula."""

    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    serialization_efficiency: Metric
    transfer_efficiency: Metric


@dataclass(frozen=True)
class Hardware:
    """States and hardware counters of a trace that has them."""

    runtime_s: float
    ideal_runtime_s: Metric  # T_id by the rules of Dimemas
    useful_s_by_rank: tuple[float, ...]  # state Running, of the first threads
    # of all threads of all ranks; null where no rank has several
    useful_s_by_thread: tuple[float, ...] | None
    outside_mpi_s_by_rank: tuple[float, ...]
    # in MPI, over the whole trace; null where the clocks do not tell
    waiting_s_by_rank: tuple[float, ...] | None
    instructions: int | None  # inside useful time; null without counters
    cycles: int | None  # inside useful time; null without counters
    ipc: float | None  # inside useful time; null without counters
    frequency_hz: float | None  # inside useful time; null without counters
    # `pop`, `bsc`, `pypop`, `pypop-additive` and `cube` ([metrics.md](metrics.md), section 2)
    variants: dict[str, PopFactors]
