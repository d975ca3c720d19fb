"""Where the ranks' time went."""

from perfscope.schema.common import Efficiencies, Metric, Place
from perfscope.schema.enums import Account
from perfscope.structures import dataclass

SMALLER_CAUSE = "smaller"
"""What a part of the run was lost to that holds several small losses together."""


@dataclass(frozen=True)
class LedgerAccount:
    """One account of the ledger: seconds of all ranks, and nanoseconds of each."""

    id: str
    label: str
    seconds: float  # of all ranks together
    share: float  # of all ranks' process lives
    ns_by_rank: tuple[int, ...]  # over all accounts they add up to the rank's life exactly
    meaning: str


@dataclass(frozen=True)
class TimePart:
    """A part of the run in seconds of its wall clock: the mean over the recorded ranks."""

    # of an account, or `outside` (no process of the rank is there: before it starts, after it ends,
    # and while the launcher works), or `elsewhere` (only ranks of other groups in the recording
    # live), or `others` (those below 1 % together), or `lost`: what was lost in an account of work,
    # whose own part is without it; or `of_verdict`: what is lost to a cause that the verdict is
    # about, which the other parts hold already; or `of_work`: what the first action of the verdict
    # saves of work that the other parts take for needed, for the run and not for a mean rank
    id: str
    label: str
    meaning: str
    seconds: float  # mean over the ranks
    share: float  # of the whole run
    waiting_s: float = 0.0  # of `of_verdict` the part in which other ranks waited for those held up
    # of `lost` what it was lost to: an activity or a kind of loss, or `smaller`, several together
    cause: str = ""


@dataclass(frozen=True)
class FunctionShare:
    """Computation outside phases in one function, as stack samples saw it."""

    function: str
    file: str
    line: int  # seen most often, 0 unknown
    seconds: float
    share: float  # of all ranks' process lives
    account: Account
    seconds_by_rank: tuple[float, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The function by its name and file."""
        return self.function, self.file


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
    # W, the time of each rank outside communication in the focus
    outside_communication_s_by_rank: tuple[float, ...]
    useful_s_by_rank: tuple[float, ...]  # U, its training work
    # where W that was not training went, as shares of the sum of W
    productive_split: dict[str, float]


@dataclass(frozen=True)
class Phase:
    """One phase in the focus of analysis; lists follow the recorded ranks."""

    id: str  # `train`, `forward`, `evaluate`, ..., `user:NAME`
    label: str
    kind: str
    source: str  # `marker`, `framework`, or `sampled` (found by the stack sampler)
    count: int  # occurrences on all ranks
    ranks: tuple[int, ...]  # numbers of those that entered it
    seconds_by_rank: tuple[float, ...]  # phases nested in it left out
    communication_s_by_rank: tuple[float, ...]  # the part of that spent in communication
    where: tuple[Place, ...]  # what does its work, most seconds first
    metrics: Efficiencies | None
    windows_s: tuple[tuple[int, float, float], ...]  # rank, start and end of the first occurrences


@dataclass(frozen=True)
class Steps:
    """Step by step: slowest and fastest rank, and what the program reported."""

    source: str | None  # as `run.throughput.step_source`
    count: int
    numbers: tuple[int, ...]
    # of the slowest rank, by step; long runs are thinned
    max_seconds: tuple[float, ...]
    min_seconds: tuple[float, ...]  # of the fastest rank
    # what the program reported (`loss`, ...): seconds and value
    series: dict[str, tuple[tuple[float, float], ...]]
    spent_s: float | None = None  # all steps together, mean of the ranks; null without steps


@dataclass(frozen=True)
class TimelineAccount:
    """The letter of an account in the rows of the timeline."""

    letter: str  # from `a` on in the order of the ledger, then the causes of losses
    id: str
    label: str
    # of what is lost in that account as `breakdown` tells it, its `cause` there; else null
    cause: str | None = None


@dataclass(frozen=True)
class TimelineRow:
    """The rank of one row."""

    rank: int
    host: str


@dataclass(frozen=True)
class TimelineLevel:
    """The timeline at one zoom level: one text a row, one letter a bin."""

    bins: int  # of a row: at most 256, 2048 and 16384
    bin_s: float  # their width; the last one may end behind the focus
    # a letter stands for the account, or the cause of a loss in it, that takes most of the bin on
    # the rank's main thread, of equal ones the first; `.` where most of the bin passed without the
    # rank's process. When work was held up, as without a CPU, is not known that well: of bins of
    # work so many show such a cause as it has of their time
    rows: tuple[str, ...]


@dataclass(frozen=True)
class TimelineSpot:
    """What a rank does."""

    phase: str  # its id, "" outside any
    operation: str | None  # the call that it is in
    awaited_rank: int | None  # the rank that the call waits for
    where: Place | None  # the innermost function of the user's


@dataclass(frozen=True)
class TimelineSpots:
    """What stands behind the bins of one level: one text a row, two letters a bin."""

    bin_s: float  # their width
    spots: tuple[TimelineSpot, ...]
    # `aa` is the first of `spots`, `ab` the second; `..` where nothing more is known
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """What each rank did when, coarsest level first.

    `steps` are the number and the start of steps of the first rank, in seconds as `start_s`: all of
    them, or evenly chosen ones where they are many.
    """

    reason: str | None  # why there is none, else null
    start_s: float  # of the focus of analysis
    length_s: float  # of the focus of analysis
    accounts: tuple[TimelineAccount, ...]
    # all ranks, or of more than 64 the 16 that differ most from the median rank in an account, and
    # 48 others evenly between the first and the last
    rows: tuple[TimelineRow, ...]
    ranks_left_out: int  # the number of those without a row
    # coarsest first, each 8 times finer than the one before it, fewer for short runs and many ranks
    levels: tuple[TimelineLevel, ...]
    steps: tuple[tuple[int, float], ...] = ()
    causes_left_out: int = 0  # of losses, the number of those without a letter
    # what the bins of one level consist of for the most part; null where every level has more than
    # 16,384 bins in all
    behind: TimelineSpots | None = None
