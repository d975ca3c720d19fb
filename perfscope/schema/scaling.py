"""What a scaling study found: the part `scaling` of study.json."""

from typing import Literal

from perfscope.schema.common import Metric
from perfscope.schema.compare import NotCounted
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Spread:
    """A quantity over the repeats of a size."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Growth:
    """How the work grew with the size."""

    kind: str  # `strong`, `weak` or `uneven`
    # what told it: `option`, `samples`, `batch_size`, `instructions`, `steps`, `useful_time`,
    # `none`
    basis: str
    work_ratio: float | None  # of the largest size over that of the smallest
    # of each size over that of the smallest; null where it is not known
    work: tuple[float, ...] | None
    sentence: str


@dataclass(frozen=True)
class ScalingPoint:
    """The runs of one size, against the smallest size."""

    size: int
    ranks: int
    runs: tuple[str, ...]  # their labels
    representative: str  # the label of the run of median length, which the factors are of
    # that it keeps: one for each thread with which its ranks compute, at most the CPUs that there
    # are; null where an older release left it out
    cores: int | None
    ideal_speedup: float
    shared_cpus: str | None  # how many threads shared how few CPUs; null where they did not
    time_s: Spread | None
    speedup: float | None
    efficiency: float | None
    samples_per_s: Spread | None  # null with `samples_per_s_reason`
    samples_per_s_reason: str | None
    throughput_speedup: float | None
    throughput_efficiency: float | None
    step_samples_per_s: Spread | None  # samples of a step of all ranks over its median time
    step_speedup: float | None


@dataclass(frozen=True)
class NotFitted:
    """Why there is no law."""

    value: None
    reason: str


@dataclass(frozen=True)
class Forecast:
    """What a law foretells beyond what was measured."""

    size: int  # on the axis; larger than every size measured
    value: float  # in seconds
    # 95 % interval of a further run, also over the laws that the runs cannot tell apart; null where
    # nothing is left to tell it from
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Amdahl:
    """T(q) = T(1) (s + (1 - s) / q) with q times the smallest size."""

    value: float  # s, of the run time at the smallest size
    reason: None
    serial_share: float  # the same
    # 95 % interval, null where no run is left to tell it
    serial_interval: tuple[float, float] | None
    most_speedup: float | None  # 1 / s, over the smallest size; null when s is zero
    # when s is zero: one over the upper end of the interval, below which no bound lies; null
    # otherwise
    most_speedup_at_least: float | None
    constant_s: float  # s T(1)
    parallel_s: float  # (1 - s) T(1)
    error: float  # relative standard deviation of the runs around the law
    forecasts: tuple[Forecast, ...]  # extrapolations of the run time


@dataclass(frozen=True)
class FittedModel:
    """A performance model: constant + slope p^power log2(p)^log, in seconds."""

    value: str  # as a formula
    reason: None
    power: str
    log: int
    constant: float
    slope: float
    cross_validation_error: float  # mean relative error of sizes predicted from all others
    alternatives: tuple[str, ...]  # laws that predict as well, within the standard error
    forecasts: tuple[Forecast, ...]
    fitted: tuple[float, ...]  # values at the sizes measured


@dataclass(frozen=True)
class ExtraPForecast:
    """What the model of Extra-P foretells; it gives no interval."""

    size: int
    value: float


@dataclass(frozen=True)
class ExtraP:
    """The model that Extra-P chooses."""

    value: str  # its function of p
    reason: None
    cross_validation_error: float  # symmetric mean absolute percentage error, as a share
    forecasts: tuple[ExtraPForecast, ...]


@dataclass(frozen=True)
class ScalingPart:
    """The whole run, a phase, or communication; its lists are by size."""

    id: str  # `whole`, a phase, or `communication`
    label: str
    ranks: tuple[int, ...] | None  # how many ranks enter it; null for the whole
    time_s: tuple[Spread | None, ...]
    speedup: tuple[float | None, ...]
    efficiency: tuple[float | None, ...]
    amdahl: NotFitted | Amdahl
    model: NotFitted | FittedModel
    extra_p: NotFitted | ExtraP


@dataclass(frozen=True)
class PopRow:
    """One factor of the POP table: its value at each size, and its range over the repeats."""

    id: str
    label: str
    level: int  # in the tree
    values: tuple[Metric, ...]  # by size
    spreads: tuple[tuple[float, float] | None, ...]  # null without repeats


@dataclass(frozen=True)
class PopTable:
    """The efficiencies at each size; without counters the reason why."""

    sizes: tuple[float, ...]
    formula: str
    rows: tuple[PopRow, ...]
    counters_reason: str | None


@dataclass(frozen=True)
class Composition:
    """Mean seconds of a rank by account of the ledger, then size, inside the focus."""

    accounts: tuple[str, ...]
    labels: tuple[str, ...]
    seconds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ScaledLoss:
    """Training work, or one loss: seconds per rank (mean) at each size, medians over repeats."""

    id: str
    label: str
    seconds: tuple[float, ...]
    shares: tuple[float, ...]  # of all its time without start-up and shutdown
    model: NotFitted | FittedModel  # of the seconds


@dataclass(frozen=True)
class Superlinear:
    """A size that is faster than ideal.

    On an axis of ranks its efficiency is the product of computation and parallel_ratio.
    """

    size: int
    efficiency: float
    computation: float | None  # computation scalability
    parallel_ratio: float | None  # parallel efficiency over that of the smallest size
    ipc: float | None
    instructions: float | None
    frequency: float | None
    sentence: str


@dataclass(frozen=True)
class ExternalSeries:
    """A series that somebody else measured; what its file does not hold is absent."""

    label: str
    file: str
    sizes: tuple[float, ...]
    speedup: tuple[float | None, ...]
    time_s: tuple[float | None, ...] | None = None
    samples_per_s: tuple[float | None, ...] | None = None


@dataclass(frozen=True)
class ScalingResult:
    """What more ranks, cores, GPUs or nodes gave."""

    axis: Literal["ranks", "cores", "threads", "gpus", "nodes"]
    axis_one: str  # the words of the axis
    axis_many: str  # the words of the axis
    axis_reason: str
    growth: Growth
    points: tuple[ScalingPoint, ...]
    parts: tuple[ScalingPart, ...]
    pop: PopTable
    composition: Composition
    losses: tuple[ScaledLoss, ...]  # empty where a result has no loss account
    superlinear: tuple[Superlinear, ...]
    external: tuple[ExternalSeries, ...]
    left_out: tuple[NotCounted, ...]
    notes: tuple[str, ...]  # what may make the runs incomparable

    def size_label(self, size: float) -> str:
        """A size with its word: `1 rank`, `4 ranks`."""
        return f"{size:,.6g} {self.axis_one if size == 1 else self.axis_many}"
