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
    """How the work grew with the size.

    Attributes:
        kind: `strong`, `weak` or `uneven`.
        basis: what told it: `option`, `samples`, `batch_size`, `instructions`, `steps`,
            `useful_time`, `none`.
        work_ratio: of the largest size over that of the smallest.
        work: of each size over that of the smallest; null where it is not known.
    """

    kind: str
    basis: str
    work_ratio: float | None
    work: tuple[float, ...] | None
    sentence: str


@dataclass(frozen=True)
class ScalingPoint:
    """The runs of one size, against the smallest size.

    Attributes:
        runs: their labels.
        representative: the label of the run of median length, which the factors are of.
        cores: that it keeps: one for each thread with which its ranks compute, at most the CPUs
            that there are; null where an older release left it out.
        shared_cpus: how many threads shared how few CPUs; null where they did not.
        step_samples_per_s: samples of a step of all ranks over its median time.
        samples_per_s: null with `samples_per_s_reason`.
    """

    size: int
    ranks: int
    runs: tuple[str, ...]
    representative: str
    cores: int | None
    ideal_speedup: float
    shared_cpus: str | None
    time_s: Spread | None
    speedup: float | None
    efficiency: float | None
    samples_per_s: Spread | None
    samples_per_s_reason: str | None
    throughput_speedup: float | None
    throughput_efficiency: float | None
    step_samples_per_s: Spread | None
    step_speedup: float | None


@dataclass(frozen=True)
class NotFitted:
    """Why there is no law."""

    value: None
    reason: str


@dataclass(frozen=True)
class Forecast:
    """What a law foretells beyond what was measured.

    Attributes:
        size: on the axis; larger than every size measured.
        value: in seconds.
        interval: 95 % interval of a further run, also over the laws that the runs cannot tell
            apart; null where nothing is left to tell it from.
    """

    size: int
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Amdahl:
    """T(q) = T(1) (s + (1 - s) / q) with q times the smallest size.

    Attributes:
        value: s, of the run time at the smallest size.
        serial_share: the same.
        serial_interval: 95 % interval, null where no run is left to tell it.
        most_speedup: 1 / s, over the smallest size; null when s is zero.
        most_speedup_at_least: when s is zero: one over the upper end of the interval, below which
            no bound lies; null otherwise.
        constant_s, parallel_s: s T(1) and (1 - s) T(1).
        error: relative standard deviation of the runs around the law.
        forecasts: extrapolations of the run time.
    """

    value: float
    reason: None
    serial_share: float
    serial_interval: tuple[float, float] | None
    most_speedup: float | None
    most_speedup_at_least: float | None
    constant_s: float
    parallel_s: float
    error: float
    forecasts: tuple[Forecast, ...]


@dataclass(frozen=True)
class FittedModel:
    """A performance model: constant + slope p^power log2(p)^log, in seconds.

    Attributes:
        value: as a formula.
        cross_validation_error: mean relative error of sizes predicted from all others.
        alternatives: laws that predict as well, within the standard error.
        fitted: values at the sizes measured.
    """

    value: str
    reason: None
    power: str
    log: int
    constant: float
    slope: float
    cross_validation_error: float
    alternatives: tuple[str, ...]
    forecasts: tuple[Forecast, ...]
    fitted: tuple[float, ...]


@dataclass(frozen=True)
class ExtraPForecast:
    """What the model of Extra-P foretells; it gives no interval."""

    size: int
    value: float


@dataclass(frozen=True)
class ExtraP:
    """The model that Extra-P chooses.

    Attributes:
        value: its function of p.
        cross_validation_error: symmetric mean absolute percentage error, as a share.
    """

    value: str
    reason: None
    cross_validation_error: float
    forecasts: tuple[ExtraPForecast, ...]


@dataclass(frozen=True)
class ScalingPart:
    """The whole run, a phase, or communication; its lists are by size.

    Attributes:
        ranks: how many ranks enter it; null for the whole.
        id: `whole`, a phase, or `communication`.
    """

    id: str
    label: str
    ranks: tuple[int, ...] | None
    time_s: tuple[Spread | None, ...]
    speedup: tuple[float | None, ...]
    efficiency: tuple[float | None, ...]
    amdahl: NotFitted | Amdahl
    model: NotFitted | FittedModel
    extra_p: NotFitted | ExtraP


@dataclass(frozen=True)
class PopRow:
    """One factor of the POP table: its value at each size, and its range over the repeats.

    Attributes:
        level: in the tree.
        values: by size.
        spreads: null without repeats.
    """

    id: str
    label: str
    level: int
    values: tuple[Metric, ...]
    spreads: tuple[tuple[float, float] | None, ...]


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
    """Training work, or one loss: seconds of a mean rank at each size, medians over repeats.

    Attributes:
        shares: of all its time without start-up and shutdown.
        model: of the seconds.
    """

    id: str
    label: str
    seconds: tuple[float, ...]
    shares: tuple[float, ...]
    model: NotFitted | FittedModel


@dataclass(frozen=True)
class Superlinear:
    """A size that is faster than ideal.

    On an axis of ranks its efficiency is the product of computation and parallel_ratio.

    Attributes:
        computation: computation scalability.
        parallel_ratio: parallel efficiency over that of the smallest size.
    """

    size: int
    efficiency: float
    computation: float | None
    parallel_ratio: float | None
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
    """What more ranks, cores, GPUs or nodes gave.

    Attributes:
        axis_one, axis_many: the words of the axis.
        losses: empty where a result has no loss account.
        notes: what may make the runs incomparable.
    """

    axis: Literal["ranks", "cores", "threads", "gpus", "nodes"]
    axis_one: str
    axis_many: str
    axis_reason: str
    growth: Growth
    points: tuple[ScalingPoint, ...]
    parts: tuple[ScalingPart, ...]
    pop: PopTable
    composition: Composition
    losses: tuple[ScaledLoss, ...]
    superlinear: tuple[Superlinear, ...]
    external: tuple[ExternalSeries, ...]
    left_out: tuple[NotCounted, ...]
    notes: tuple[str, ...]

    def size_label(self, size: float) -> str:
        """A size with its word: `1 rank`, `4 ranks`."""
        return f"{size:,.6g} {self.axis_one if size == 1 else self.axis_many}"
