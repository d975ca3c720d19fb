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
    """One GPU over the focus, as its driver told.

    Attributes:
        board: of an instance, empty else.
        known_by: what told which ranks use it.
        busy, memory_busy: share of time; null where not told, as what follows.
        sm_mhz: mean while busy.
        throttled: share of the busy samples, by reason.
    """

    host: str
    uuid: str
    index: int
    name: str
    board: str
    driver: str
    capability: str | None
    is_lost: bool
    ranks: tuple[int, ...]
    known_by: str
    samples: int
    watched_s: float
    busy: float | None
    memory_busy: float | None
    memory_total_bytes: int | None
    memory_peak_bytes: int | None
    memory_peak_phase: str
    memory_peak_bytes_by_rank: tuple[GpuMemoryOfRank, ...]
    sm_mhz: float | None
    sm_mhz_most: float | None
    power_w: float | None
    power_limit_w: float | None
    celsius_most: float | None
    throttled: dict[str, float]
    series: GpuSeries


@dataclass(frozen=True)
class SampledGpus:
    """What the driver said while the job ran; `value` is the mean share of time with a kernel."""

    value: float | None
    reason: str | None
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True)
class DeviceFactors:
    """Efficiencies of the devices by one convention.

    Attributes:
        parallel_efficiency: `load_balance` x `communication_efficiency` x
            `orchestration_efficiency`.
    """

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
    """Copies between host and device of one direction.

    Attributes:
        direction: `unknown` where the trace does not tell.
        pageable: null unknown.
        seconds: union.
        exposed_s: no kernel ran.
    """

    direction: Direction
    pageable: bool | None
    count: int
    bytes: int
    seconds: float
    exposed_s: float


@dataclass(frozen=True)
class Stream:
    """One stream: when it was busy, and what lay in its gaps.

    Attributes:
        host_wait_s, kernel_wait_s, other_s: gaps.
        edge_s: before the first and after the last row.
    """

    stream: int
    rows: int
    busy_s: float
    host_wait_s: float
    kernel_wait_s: float
    other_s: float
    edge_s: float


@dataclass(frozen=True)
class Device:
    """One device of a rank over the focus; times are unions.

    Attributes:
        exposed_communication_s: nothing computes.
        exposed_memory_s: no kernel runs.
        overlap: share of communication that computation hides, null without.
        compute_kernels, communication_kernels, copies, fills: rows that begin in the focus.
        capability: of CUDA, null unknown.
        idle_s_by_host: idle time by account of the ledger of the rank's main location.
        idle_reason: why the trace tells nothing of it (the clocks of device and host disagree),
            else null.
        idle_s_by_cause: the same by what the next work waited for ([gpu.md](gpu.md)).
    """

    rank: int
    device: int
    name: str
    busy_s: float
    idle_s: float
    compute_s: float
    communication_s: float
    memcpy_s: float
    memset_s: float
    exposed_communication_s: float
    exposed_memory_s: float
    overlap: float | None
    compute_kernels: int
    communication_kernels: int
    copies: int
    fills: int
    capability: str | None
    idle_s_by_host: dict[str, float]
    idle_reason: str | None
    idle_s_by_cause: dict[str, float]
    host_copies: tuple[HostCopies, ...]
    streams: tuple[Stream, ...]


@dataclass(frozen=True)
class DeviceStep:
    """The same unions inside one step.

    Attributes:
        number: of the step, between the host's ends of it.
    """

    rank: int
    device: int
    number: int
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
    """Seconds in kernels that multiply matrices, by their names.

    Attributes:
        single_precision_s: without tensor cores.
        tensor_cores_s: with them.
    """

    single_precision_s: float
    tensor_cores_s: float


@dataclass(frozen=True)
class DeviceCommunicationOfRank:
    """Communication kernels of one rank.

    Attributes:
        last: times the rank was last to begin.
    """

    rank: int
    seconds: float
    wait_s: float
    transfer_s: float
    last: int
    longest_wait_s: float


@dataclass(frozen=True)
class DeviceCommunication:
    """Communication kernels matched over ranks.

    Attributes:
        reason: why waiting is not known, else null.
        matched: collectives.
        unmatched: kernels without partner, or of calls that do not wait for all ranks.
        end_spread_s: 99 % of collectives: how far apart their kernels end.
    """

    reason: str | None
    matched: int
    unmatched: int
    end_spread_s: float | None
    ranks: tuple[DeviceCommunicationOfRank, ...]


@dataclass(frozen=True)
class Devices:
    """What a profiler saw of accelerators; `value` is the device parallel efficiency.

    Attributes:
        formula: the convention of `value`.
        window_s: over which time everything but `sampled` is.
        is_part: a profiler watched only this part of the focus.
        offload_efficiency: the hosts' work outside communication over the same plus their calls of
            the devices' runtime.
        kernels: at most 100, most seconds first.
        launch_delay_s_median: by rank with a device, from launch to start.
        kernel_wait_below_s: the longest gap that counts as kernel wait.
        unlinked_rows: rows whose launch is not in the trace.
    """

    value: float | None
    reason: str | None
    formula: Literal["bsc"]
    window_s: tuple[float, float]
    is_part: bool
    sampled: SampledGpus
    efficiency: DeviceEfficiencies
    offload_efficiency: Metric
    devices: tuple[Device, ...]
    steps: tuple[DeviceStep, ...]
    kernels: tuple[Kernel, ...]
    kernels_left_out: int
    matrices: Matrices
    communication: DeviceCommunication
    launch_delay_s_median: tuple[float | None, ...]
    kernel_wait_below_s: float
    unlinked_rows: int


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
    """States and hardware counters of a trace that has them.

    Attributes:
        ideal_runtime_s: T_id by the rules of Dimemas.
        useful_s_by_rank: state Running, of the first threads.
        useful_s_by_thread: of all threads of all ranks; null where no rank has several.
        waiting_s_by_rank: in MPI, over the whole trace; null where the clocks do not tell.
        instructions, cycles, ipc, frequency_hz: inside useful time; null without counters.
        variants: `pop`, `bsc`, `pypop`, `pypop-additive` and `cube` ([metrics.md](metrics.md),
            section 2).
    """

    runtime_s: float
    ideal_runtime_s: Metric
    useful_s_by_rank: tuple[float, ...]
    useful_s_by_thread: tuple[float, ...] | None
    outside_mpi_s_by_rank: tuple[float, ...]
    waiting_s_by_rank: tuple[float, ...] | None
    instructions: int | None
    cycles: int | None
    ipc: float | None
    frequency_hz: float | None
    variants: dict[str, PopFactors]
