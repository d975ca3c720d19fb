"""Communication of the ranks."""

from perfscope.schema.common import CostLine, Metric, Place
from perfscope.schema.enums import WaitKind
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Operation:
    """All calls of one operation over the whole life of the ranks.

    Attributes:
        bytes_sent, bytes_received: null for collectives of frameworks.
        wait_s, transfer_s: null where calls could not be matched.
        detailed_calls: calls of which a record exists.
    """

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
    """Waiting of one kind, of all ranks that waited, and for whom, most first.

    Attributes:
        by_rank: at most 64; the others are in `left_out_s`.
    """

    kind: WaitKind
    seconds: float
    by_rank: tuple[WaitedFor, ...]
    left_out_s: float


@dataclass(frozen=True)
class LateArrival:
    """Who kept others waiting, where, and for how long.

    Attributes:
        phase: its id, empty outside any.
        waiting_s: summed over those who waited.
        stall_s: longest wait of each occurrence, summed.
        window_s: first and last.
    """

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
    """Exchanges of gradients that overlap with the backward pass.

    Attributes:
        exposed_s: of an exchange, of the rank that waits longest.
        exposed_s_by_rank, wait_s_by_rank, transfer_s_by_rank: medians over the exchanges of a rank.
    """

    exchanges: int
    exposed_s: Metric
    exposed_s_by_rank: tuple[float, ...]
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class CollectiveClass:
    """Collectives of one operation, communicator size and message size.

    Attributes:
        size_bytes: median of sizes within a factor of two.
        seconds: median from the last arrival to the last exit.
        algorithm_bytes_per_s: size / time.
        bus_bytes_per_s: times the share that each link carries.
        of_best: of the best class of the run.
    """

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
    """The cost of one operation by size, of the piece in which most bytes moved.

    Attributes:
        pieces: the same for each piece, from small sizes to large ones.
        pieces_meet_at_bytes: the sizes between two pieces.
    """

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

    Attributes:
        size_bytes: in which most bytes of the run move.
        rabenseifner_s: null unless the ranks are a power of two.
        hierarchical_s: rings inside nodes and between; null unless nodes are full.
        hierarchical_put_s: puts in place of the last allgather.
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

    Attributes:
        seconds: that they take by the fit.
        is_dominant: whether latency is at least half.
        saved_s: if each group were one call.
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
    """Bandwidth and cost of collectives.

    Attributes:
        classes: at most 100.
        fits: where sizes are spread, at most 8; else the `reason` why there is none.
        allreduce_measured_s: what these took.
        fusion: null without allreduces in quick succession or without a fit.
        assumptions: sentences.
    """

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
    """Communication by operation and by rank, and who was late.

    Attributes:
        clocks_reason: why wait and transfer between hosts are not told apart, so that what follows
            lacks them; null where they are.
        wait_s_by_rank: waiting for other ranks.
        transfer_s_by_rank: the operation itself.
        other_s_by_rank: where the split is not known.
        wait_states: the same waiting by kind, most first; it adds up to all of `wait_s_by_rank`
            ([metrics.md](metrics.md), section 4).
        matched_calls: calls whose partners are known.
        unmatched: calls without partners, by operation; those of Horovod's thread with ` (Horovod)`
            behind the name.
        gradient_exchange: null where there are none.
    """

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
