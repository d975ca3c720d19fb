"""Communication of the ranks."""

from perfscope.schema.common import CostLine, Metric, Place
from perfscope.schema.enums import WaitKind
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Operation:
    """All calls of one operation over the whole life of the ranks."""

    name: str
    calls: int
    seconds: float
    seconds_by_rank: tuple[float, ...]
    bytes_sent: int | None  # null for collectives of frameworks
    bytes_received: int | None  # null for collectives of frameworks
    # null where calls could not be matched; of tests that are recorded as one no more than they
    # took, while the waiting of ranks has the program's own code between them as well
    wait_s: float | None
    transfer_s: float | None  # null where calls could not be matched
    detailed_calls: int  # calls of which a record exists


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
    by_rank: tuple[WaitedFor, ...]  # at most 64; the others are in `left_out_s`
    left_out_s: float


@dataclass(frozen=True)
class LateArrival:
    """Who kept others waiting, where, and for how long."""

    rank: int
    phase: str  # its id, empty outside any
    function: str | None
    file: str | None
    line: int | None
    caller: Place | None
    waiting_s: float  # summed over those who waited
    stall_s: float  # longest wait of each occurrence, summed
    instances: int
    window_s: tuple[float, float]  # first and last


@dataclass(frozen=True)
class GradientExchange:
    """Exchanges of gradients that overlap with the backward pass."""

    exchanges: int
    exposed_s: Metric  # of an exchange, of the rank that waits longest
    exposed_s_by_rank: tuple[float, ...]  # medians over the exchanges of a rank
    wait_s_by_rank: tuple[float, ...]  # medians over the exchanges of a rank
    transfer_s_by_rank: tuple[float, ...]  # medians over the exchanges of a rank
    # exchanges of the same gradients before each step of an optimizer, median; null where unknown
    per_update: float | None = None


@dataclass(frozen=True)
class CollectiveClass:
    """Collectives of one operation, communicator size and message size."""

    name: str
    ranks: int
    calls: int
    size_bytes: int  # median of sizes within a factor of two
    seconds: float  # median from the last arrival to the last exit
    algorithm_bytes_per_s: float  # size / time
    bus_bytes_per_s: float  # times the share that each link carries
    of_best: float  # of the best class of the run


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
    pieces: tuple[CostLine, ...]  # the same for each piece, from small sizes to large ones
    pieces_meet_at_bytes: tuple[float, ...]  # the sizes between two pieces


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

    size_bytes: int  # in which most bytes of the run move
    ranks: int
    ring_s: float
    recursive_doubling_s: float
    rabenseifner_s: float | None  # null unless the ranks are a power of two
    tree_s: float
    hierarchical_s: float | None  # rings inside nodes and between; null unless nodes are full
    hierarchical_put_s: float | None  # puts in place of the last allgather
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
    seconds: float  # that they take by the fit
    latency_s: float
    is_dominant: bool  # whether latency is at least half
    saved_s: float  # if each group were one call


@dataclass(frozen=True)
class CollectiveCost:
    """Bandwidth and cost of collectives."""

    classes: tuple[CollectiveClass, ...]  # at most 100
    classes_left_out: int
    # where sizes are spread, at most 8; else the `reason` why there is none
    fits: tuple[CollectiveFit, ...]
    reason: str | None
    allreduce: tuple[AllreduceModel, ...]
    allreduce_measured_s: float | None  # what these took
    fusion: Fusion | None  # null without allreduces in quick succession or without a fit
    assumptions: tuple[str, ...]  # sentences


@dataclass(frozen=True)
class Collectives:
    """Communication by operation and by rank, and who was late."""

    operations: tuple[Operation, ...]
    # why wait and transfer between hosts are not told apart, so that what follows lacks them; null
    # where they are
    clocks_reason: str | None
    wait_s_by_rank: tuple[float, ...]  # waiting for other ranks
    transfer_s_by_rank: tuple[float, ...]  # the operation itself
    other_s_by_rank: tuple[float, ...]  # where the split is not known
    # the same waiting by kind, most first; it adds up to all of `wait_s_by_rank`
    # ([metrics.md](metrics.md), section 4)
    wait_states: tuple[WaitState, ...]
    late_arrivals: tuple[LateArrival, ...]
    matched_calls: int  # calls whose partners are known
    # calls without partners, by operation; those of Horovod's thread with ` (Horovod)` behind the
    # name
    unmatched: dict[str, int]
    gradient_exchange: GradientExchange | None  # null where there are none
    cost: CollectiveCost | None
