"""Where the ranks' time went."""

from dataclasses import dataclass

from perfscope.schema.common import Efficiencies, Metric, Place


@dataclass(frozen=True)
class LedgerAccount:
    """One account of the ledger: seconds of all ranks, and nanoseconds of each."""

    id: str
    label: str
    seconds: float
    share: float
    ns_by_rank: tuple[int, ...]
    meaning: str


@dataclass(frozen=True)
class FunctionShare:
    """Computation outside phases in one function, as stack samples saw it."""

    function: str
    file: str
    line: int
    seconds: float
    share: float
    account: str
    seconds_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class Unlabeled:
    """Time that no phase and no known function accounts for, and the most it should be."""

    share: float
    seconds: float
    target: float


@dataclass(frozen=True)
class Metrics:
    """The efficiency tree of the run, and the seconds that it is made of."""

    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    serialization_efficiency: Metric
    transfer_efficiency: Metric
    productive_share: Metric
    training_efficiency: Metric
    outside_communication_s_by_rank: tuple[float, ...]
    useful_s_by_rank: tuple[float, ...]
    productive_split: dict[str, float]


@dataclass(frozen=True)
class Phase:
    """One phase in the focus of analysis; lists follow the recorded ranks."""

    id: str
    label: str
    kind: str
    source: str
    count: int
    ranks: tuple[int, ...]
    seconds_by_rank: tuple[float, ...]
    communication_s_by_rank: tuple[float, ...]
    where: tuple[Place, ...]
    metrics: Efficiencies | None
    windows_s: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True)
class Steps:
    """Step by step: slowest and fastest rank, and what the program reported."""

    source: str | None
    count: int
    numbers: tuple[int, ...]
    max_seconds: tuple[float, ...]
    min_seconds: tuple[float, ...]
    series: dict[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class TimelineAccount:
    """The letter of an account in the rows of the timeline."""

    letter: str
    id: str
    label: str


@dataclass(frozen=True)
class TimelineRow:
    """The rank of one row."""

    rank: int
    host: str


@dataclass(frozen=True)
class TimelineLevel:
    """The timeline at one zoom level: one text a row, one letter a bin."""

    bins: int
    bin_s: float
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """What each rank did when, coarsest level first.

    `steps` are the number and the start of steps of the first rank, in seconds as `start_s`: all of
    them, or evenly chosen ones where they are many.
    """

    reason: str | None
    start_s: float
    length_s: float
    accounts: tuple[TimelineAccount, ...]
    rows: tuple[TimelineRow, ...]
    ranks_left_out: int
    levels: tuple[TimelineLevel, ...]
    steps: tuple[tuple[int, float], ...] = ()
