"""Where the ranks' time went."""

from perfscope.schema.common import Efficiencies, Metric, Place
from perfscope.schema.enums import Account
from perfscope.structures import dataclass


@dataclass(frozen=True)
class LedgerAccount:
    """One account of the ledger: seconds of all ranks, and nanoseconds of each.

    Attributes:
        seconds: of all ranks together.
        share: of all ranks' process lives.
        ns_by_rank: over all accounts they add up to the rank's life exactly.
    """

    id: str
    label: str
    seconds: float
    share: float
    ns_by_rank: tuple[int, ...]
    meaning: str


@dataclass(frozen=True)
class TimePart:
    """A part of the run in seconds of its wall clock: the mean over the recorded ranks.

    Attributes:
        id: of an account, or `outside` (no process of the rank is there: before it starts, after it
            ends, and while the launcher works), or `others` (those below 1 % together), or
            `of_verdict`: what is lost to a cause that the verdict is about, a part of the others.
        seconds: mean over the ranks.
        share: of the whole run.
        waiting_s: of `of_verdict` the part in which other ranks waited for those held up.
    """

    id: str
    label: str
    meaning: str
    seconds: float
    share: float
    waiting_s: float = 0.0


@dataclass(frozen=True)
class FunctionShare:
    """Computation outside phases in one function, as stack samples saw it.

    Attributes:
        line: seen most often, 0 unknown.
        share: of all ranks' process lives.
    """

    function: str
    file: str
    line: int
    seconds: float
    share: float
    account: Account
    seconds_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class Unlabeled:
    """Time that no phase and no known function accounts for, and the most it should be."""

    share: float
    seconds: float
    target: float


@dataclass(frozen=True)
class Metrics:
    """The efficiency tree of the run, and the seconds that it is made of.

    Attributes:
        outside_communication_s_by_rank: W, the time of each rank outside communication in the
            focus.
        useful_s_by_rank: U, its training work.
        productive_split: where W that was not training went, as shares of the sum of W.
    """

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
    """One phase in the focus of analysis; lists follow the recorded ranks.

    Attributes:
        id: `train`, `forward`, `evaluate`, ..., `user:NAME`.
        source: `marker`, `framework`, or `sampled` (found by the stack sampler).
        count: occurrences on all ranks.
        ranks: numbers of those that entered it.
        seconds_by_rank: phases nested in it left out.
        communication_s_by_rank: the part of that spent in communication.
        where: what does its work, most seconds first.
        windows_s: rank, start and end of the first occurrences.
    """

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
    """Step by step: slowest and fastest rank, and what the program reported.

    Attributes:
        source: as `run.throughput.step_source`.
        max_seconds, min_seconds: of the slowest and the fastest rank, by step; long runs are
            thinned.
        series: what the program reported (`loss`, ...): seconds and value.
        spent_s: all steps together, mean of the ranks; null without steps.
    """

    source: str | None
    count: int
    numbers: tuple[int, ...]
    max_seconds: tuple[float, ...]
    min_seconds: tuple[float, ...]
    series: dict[str, tuple[tuple[float, float], ...]]
    spent_s: float | None = None


@dataclass(frozen=True)
class TimelineAccount:
    """The letter of an account in the rows of the timeline.

    Attributes:
        letter: from `a` on in the order of the ledger.
    """

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
    """The timeline at one zoom level: one text a row, one letter a bin.

    Attributes:
        bins: of a row: at most 256, 2048 and 16384.
        bin_s: their width; the last one may end behind the focus.
        rows: a letter stands for the account that takes most of the bin on the rank's main thread,
            of equal ones the first; `.` where most of the bin passed without the rank's process.
    """

    bins: int
    bin_s: float
    rows: tuple[str, ...]


@dataclass(frozen=True)
class TimelineSpot:
    """What a rank does.

    Attributes:
        phase: its id, "" outside any.
        operation: the call that it is in.
        awaited_rank: the rank that the call waits for.
        where: the innermost function of the user's.
    """

    phase: str
    operation: str | None
    awaited_rank: int | None
    where: Place | None


@dataclass(frozen=True)
class TimelineSpots:
    """What stands behind the bins of one level: one text a row, two letters a bin.

    Attributes:
        bin_s: their width.
        rows: `aa` is the first of `spots`, `ab` the second; `..` where nothing more is known.
    """

    bin_s: float
    spots: tuple[TimelineSpot, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """What each rank did when, coarsest level first.

    `steps` are the number and the start of steps of the first rank, in seconds as `start_s`: all of
    them, or evenly chosen ones where they are many.

    Attributes:
        reason: why there is none, else null.
        start_s, length_s: of the focus of analysis.
        rows: all ranks, or of more than 64 the 16 that differ most from the median rank in an
            account, and 48 others evenly between the first and the last.
        ranks_left_out: the number of those without a row.
        levels: coarsest first, each 8 times finer than the one before it, fewer for short runs and
            many ranks.
        behind: what the bins of one level consist of for the most part; null where every level
            has more than 16,384 bins in all.
    """

    reason: str | None
    start_s: float
    length_s: float
    accounts: tuple[TimelineAccount, ...]
    rows: tuple[TimelineRow, ...]
    ranks_left_out: int
    levels: tuple[TimelineLevel, ...]
    steps: tuple[tuple[int, float], ...] = ()
    behind: TimelineSpots | None = None
