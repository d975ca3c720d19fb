"""What several sections of analysis.json are made of."""

from perfscope.structures import dataclass

NO_REASON = "the result does not hold it"
"""Why a figure is missing, where the document does not even say why."""

TOLD_STEPS = ("framework", "marker")
"""Sources of steps that know where each one begins and ends; others are found from what repeats."""


@dataclass(frozen=True)
class Metric:
    """A figure: its value, or why there is none; over which time and by which formula."""

    value: float | None
    unit: str  # `ratio`, `s`, `1/s`, ...
    reason: str | None = None  # why the value is null
    useful: str | None = None  # what counts
    foa: str | None = None  # over which time
    # which published variant, or `perfscope` where it is perfscope's own
    formula: str | None = None

    @property
    def is_measured(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


@dataclass(frozen=True)
class Place:
    """A place in the source; `line` is 0 when not known."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Series:
    """Values over time: lists of equal length."""

    seconds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Efficiencies:
    """The efficiency tree of the run or of a phase."""

    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    serialization_efficiency: Metric
    transfer_efficiency: Metric
    productive_share: Metric
    training_efficiency: Metric


@dataclass(frozen=True)
class CostLine:
    """What a call costs by its size: latency and bandwidth with 95 % intervals."""

    latency_s: float
    latency_interval_s: tuple[float, float]
    bytes_per_s: float | None  # null: size does not count
    bytes_per_s_interval: tuple[float | None, float | None]
    typical_error: float  # median relative error


@dataclass(frozen=True)
class DelayCause:
    """What one rank did in one phase that made others wait; seconds of those who waited."""

    rank: int
    phase: str | None  # empty outside any, null communication
    direct_s: float
    indirect_s: float
    share: float  # of all waiting

    @property
    def seconds(self) -> float:
        """Waiting for this rank itself, and for one that had waited for it."""
        return self.direct_s + self.indirect_s
