"""Communication of the ranks."""

from dataclasses import dataclass

from perfscope.schema.common import CostLine, Metric, Place
from perfscope.schema.enums import WaitKind


@dataclass(frozen=True)
class Operation:
    """All calls of one operation over the whole life of the ranks."""

    name: str
    calls: int
    seconds: float
    seconds_by_rank: tuple[float, ...]
    bytes_sent: int | None
    bytes_received: int | None
    wait_s: float | None
    transfer_s: float | None
    detailed_calls: int


@dataclass(frozen=True)
class WaitedFor:
    """Seconds waited for one rank; null where it never came or was asked for in vain."""

    rank: int | None
    seconds: float


@dataclass(frozen=True)
class WaitState:
    """Waiting of one kind, of all ranks that waited, and for whom, most first."""

    kind: WaitKind
    seconds: float
    by_rank: tuple[WaitedFor, ...]
    left_out_s: float


@dataclass(frozen=True)
class LateArrival:
    """Who kept others waiting, where, and for how long."""

    rank: int
    phase: str
    function: str | None
    file: str | None
    line: int | None
    caller: Place | None
    waiting_s: float
    stall_s: float
    instances: int
    window_s: tuple[float, float]


@dataclass(frozen=True)
class GradientExchange:
    """Exchanges of gradients that overlap with the backward pass."""

    exchanges: int
    exposed_s: Metric
    exposed_s_by_rank: tuple[float, ...]
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class CollectiveClass:
    """Collectives of one operation, communicator size and message size."""

    name: str
    ranks: int
    calls: int
    size_bytes: int
    seconds: float
    algorithm_bytes_per_s: float
    bus_bytes_per_s: float
    of_best: float


@dataclass(frozen=True)
class CollectiveFit:
    """The cost of one operation by size, of the piece in which most bytes moved."""

    name: str
    ranks: int
    calls: int
    least_bytes: int
    most_bytes: int
    latency_s: float
    latency_interval_s: tuple[float, float]
    bytes_per_s: float | None
    bytes_per_s_interval: tuple[float | None, float | None]
    typical_error: float
    pieces: tuple[CostLine, ...]
    pieces_meet_at_bytes: tuple[float, ...]


@dataclass(frozen=True)
class Torus:
    """An allreduce on a torus of x times y ranks."""

    seconds: float
    x: int
    y: int


@dataclass(frozen=True)
class AllreduceModel:
    """Seconds of an allreduce of one size by the way it is done; null where a way does not fit.

    `tori` are all two-dimensional ones, `torus` the fastest of them.
    """

    size_bytes: int
    ranks: int
    ring_s: float
    recursive_doubling_s: float
    rabenseifner_s: float | None
    tree_s: float
    hierarchical_s: float | None
    hierarchical_put_s: float | None
    torus: Torus | None
    tori: tuple[Torus, ...]


@dataclass(frozen=True)
class Fusion:
    """What allreduces in quick succession take, and would if those of each group were one.

    Seconds of the run, one value for each call: from the last arrival to the last exit. A group is
    at least two calls with at most `most_bytes` together; `latency_s` does not depend on the size.
    """

    calls: int
    groups: int
    most_bytes: int
    seconds: float
    latency_s: float
    is_dominant: bool
    saved_s: float


@dataclass(frozen=True)
class CollectiveCost:
    """Bandwidth and cost of collectives."""

    classes: tuple[CollectiveClass, ...]
    classes_left_out: int
    fits: tuple[CollectiveFit, ...]
    reason: str | None
    allreduce: tuple[AllreduceModel, ...]
    allreduce_measured_s: float | None
    fusion: Fusion | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Collectives:
    """Communication by operation and by rank, and who was late."""

    operations: tuple[Operation, ...]
    clocks_reason: str | None
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]
    other_s_by_rank: tuple[float, ...]
    wait_states: tuple[WaitState, ...]
    late_arrivals: tuple[LateArrival, ...]
    matched_calls: int
    unmatched: dict[str, int]
    gradient_exchange: GradientExchange | None
    cost: CollectiveCost | None


@dataclass(frozen=True)
class FusionBytes:
    """Bytes of the allreduces that carried tensors."""

    allreduces: int
    least: int | None
    median: float | None
    most: int | None


@dataclass(frozen=True)
class HorovodLocation:
    """Horovod's thread on one rank: its four times add up to the focus.

    `data_s` is spent in calls that carry tensors, waiting included, `control_s` in agreeing on what
    is ready, `other_s` in other MPI calls, `idle_s` in copying to and from the fusion buffer and in
    sleep; `thread` is its kernel id.
    """

    rank: int
    thread: int
    data_s: float
    control_s: float
    other_s: float
    idle_s: float
    control_cycles: int
    data_calls: dict[str, int]
    data_bytes: int
    fusion_bytes: FusionBytes


@dataclass(frozen=True)
class HorovodExposed:
    """Communication of Horovod that the ranks waited for, by rank and by step."""

    reason: str | None
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]
    step_wait_s_median_by_rank: tuple[float | None, ...]
    step_transfer_s_median_by_rank: tuple[float | None, ...]
    steps: tuple[int, ...]
    step_wait_s: tuple[tuple[float | None, ...], ...]
    step_transfer_s: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Horovod:
    """Horovod's thread and what it exposed."""

    locations: tuple[HorovodLocation, ...]
    exposed: HorovodExposed


@dataclass(frozen=True)
class Negotiations:
    """How ranks agreed on tensors that are ready; in `seconds` any was under way."""

    count: int
    with_ranks: int
    unfinished: int
    seconds: float
    skew_s: float
    skew_s_most: float | None


@dataclass(frozen=True)
class TensorActivity:
    """One activity of Horovod: `seconds` is the union, `summed_s` the sum over tensors."""

    name: str
    count: int
    seconds: float
    summed_s: float
    depth: int


@dataclass(frozen=True)
class Spread:
    """Least, median and most of one fused operation."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class TensorFusions:
    """Operations that carried several tensors."""

    operations: int
    tensors: Spread | None
    bytes: Spread | None


@dataclass(frozen=True)
class TensorSkew:
    """One tensor, and who was last with it."""

    name: str
    negotiations: int
    bytes: int | None
    skew_s: float
    last_rank: int | None
    last_share: float | None


@dataclass(frozen=True)
class Tensors:
    """What Horovod's timeline tells of tensors; by rank in the order of `ranks`.

    `wait_s_by_rank` is, by operation, the time in which a rank had some tensor ready that others
    had not; empty with `reason` where no negotiation names ranks. `late_s_by_rank` is the time in
    which another rank had a tensor ready and this one came last with it, in negotiations that began
    when all ranks had come for the first time, and `start_late_s_by_rank` before. `tensors` begins
    with the longest skew.
    """

    ranks: tuple[int, ...]
    window_s: float
    negotiations: Negotiations
    reason: str | None
    wait_s_by_rank: dict[str, tuple[float, ...]]
    last_by_rank: tuple[int, ...]
    first_by_rank: tuple[int, ...]
    late_s_by_rank: tuple[float, ...]
    start_late_s_by_rank: tuple[float, ...]
    activities: tuple[TensorActivity, ...]
    fusions: TensorFusions
    cycles: int
    tensor_count: int
    tensors: tuple[TensorSkew, ...]
