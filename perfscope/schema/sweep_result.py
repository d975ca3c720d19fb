"""What a sweep found: the part `sweep` of study.json."""

from perfscope.schema.sweep import KindOfAxis
from perfscope.structures import dataclass


@dataclass(frozen=True)
class VariedAxis:
    """One thing that is varied; `numbers` where all of its values are numbers."""

    name: str
    kind: KindOfAxis
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None


@dataclass(frozen=True)
class SweepObjective:
    """What the configurations are compared by, why it is not the usual, and what to beware of."""

    id: str  # `samples_per_s`, `steps_per_s`, `runs_per_h`, `printed`
    label: str
    unit: str
    meaning: str
    reason: str | None
    caution: str | None


@dataclass(frozen=True)
class SpeedFactors:
    """What a speed is made of, and what it costs: medians over the runs of a configuration."""

    ranks: float | None  # of the job
    parallel_efficiency: float | None  # share of the ranks' time outside communication
    load_balance: float | None  # how evenly the work is spread
    communication_efficiency: float | None  # share in which the busiest rank worked
    work_speed: float | None  # speed divided by ranks and parallel efficiency
    threads: float | None  # of the rank that had most
    # threads that want to run, for each CPU of the node; over 1 they queue
    runnable_per_cpu: float | None
    cpus_busy: float | None  # CPUs that the ranks kept busy together
    cpus: float | None  # CPUs that the ranks may use together
    queue_share: float | None  # time that threads waited for a CPU, for each second of a rank
    peak_bytes: float | None  # largest resident memory of a rank
    memory_share: float | None  # peaks of a node's ranks together, as a share of what it may use


@dataclass(frozen=True)
class StartedConfiguration:
    """One point of the grid, as shown: secrets are redacted."""

    number: int  # from 1, in the order of the grid
    label: str  # its values in one line, as far as they vary
    values: dict[str, str]  # by axis
    environment: dict[str, str | None]  # variables that were set; null for one that was taken out
    command: tuple[str, ...]  # its words
    ranks: int | None  # that the command asks for, null where it does not say
    threads: int | None  # that each rank was told to use, null where nothing says

    @property
    def title(self) -> str:
        """Its label; where nothing is varied that is empty."""
        return self.label or "the command as it is"

    @property
    def named(self) -> str:
        """The same inside a sentence: `threads=4`, or the name of a set in quotes."""
        return self.title if not self.label or "=" in self.label else f"“{self.label}”"


@dataclass(frozen=True)
class ConfigurationResult(StartedConfiguration):
    """One configuration: how it was started, how it ended, and how fast it was."""

    status: str  # `measured`, `failed`, `refused`, `missing`
    reason: str | None
    end: str | None
    runs: int
    failed_runs: int
    speeds: tuple[float, ...]  # by repeat
    speed: float | None  # median
    # from the noise pooled over all configurations; one that does not reach that of the best is of
    # a slower configuration. null where the noise is not known
    speed_interval: tuple[float, float] | None
    is_best: bool
    may_be_best: bool
    quality: float | None
    factors: SpeedFactors | None

    @property
    def is_near(self) -> bool:
        """Whether it is within the noise of the best."""
        return self.may_be_best and not self.is_best


@dataclass(frozen=True)
class NoiseBetweenRepeats:
    """The relative noise, and how many repeats would tell the best from the next."""

    relative: float | None  # standard deviation of one run
    span: float | None  # fastest over slowest, less one
    reason: str | None
    repeats_needed: int | None


@dataclass(frozen=True)
class FactorRatio:
    """One of the ratios whose product is the ratio of two speeds."""

    id: str
    label: str
    ratio: float
    best: float
    other: float


@dataclass(frozen=True)
class Explanation:
    """Why the best configuration is faster than another one."""

    configuration: int
    label: str
    ratio: float
    within_noise: bool
    factors: tuple[FactorRatio, ...]
    facts: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class SameFabric:
    """Whether the runs may be compared; `comparable` is null where nothing recorded tells."""

    libraries: tuple[str, ...]
    comparable: bool | None
    sentence: str
    pinning: str


@dataclass(frozen=True)
class SweepResult:
    """What a sweep found."""

    command: tuple[str, ...]
    recording: tuple[str, ...]
    repeat: int
    time_limit_s: float | None
    search: int | None
    cpus: int | None  # null where runs were started elsewhere
    axes: tuple[VariedAxis, ...]
    objective: SweepObjective
    quality: str | None  # name of the final value; null without
    configurations: tuple[ConfigurationResult, ...]  # in the order of the grid
    best: int | None  # numbers of configurations
    # why none of the measured configurations is named the best; null where one is
    best_reason: str | None
    contenders: tuple[int, ...]  # numbers of configurations
    noise: NoiseBetweenRepeats
    why: tuple[Explanation, ...]
    memory: str | None  # a warning about memory; null without
    constant: dict[str, str]  # values that are the same in all runs
    fabric: SameFabric
