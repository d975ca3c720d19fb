"""What a history found: the part `history` of study.json."""

from perfscope.schema.compare import NotCounted
from perfscope.structures import dataclass


@dataclass(frozen=True)
class HistoryPoint:
    """One place of a trend: all runs of one commit, or one run whose commit is not known."""

    label: str
    commit: str | None
    branch: str | None
    start_unix_s: float
    day: str
    runs: tuple[int, ...]  # places in `runs`


@dataclass(frozen=True)
class LossChange:
    """A new level of a loss from the point `at` on."""

    at: int
    before: float
    after: float
    p: float
    is_worse: bool


@dataclass(frozen=True)
class TrendChange:
    """A new level of a quantity from the point `at` on; `ratio` is after / before."""

    at: int
    before: float
    after: float
    ratio: float
    p: float
    is_worse: bool


@dataclass(frozen=True)
class Level:
    """The median of the points between two changes."""

    first: int  # points
    last: int  # points
    level: float


@dataclass(frozen=True)
class Trend:
    """One quantity over the points, its changes, and the levels between them."""

    id: str
    label: str
    unit: str
    is_lower_better: bool
    values: tuple[float | None, ...]  # of each point, null without
    reason: str | None
    changes: tuple[TrendChange, ...]
    segments: tuple[Level, ...]


@dataclass(frozen=True)
class LossTrend:
    """Training work, or one loss, over the points: seconds per rank (mean), medians of their runs.

    A value is null where no run of the point has a loss account.
    """

    id: str
    label: str
    values: tuple[float | None, ...]
    changes: tuple[LossChange, ...]
    segments: tuple[Level, ...]


@dataclass(frozen=True)
class HistoryGroup:
    """Runs that are alike, and their trends; `judged` is the id of the one that is judged."""

    label: str
    command: tuple[str, ...]
    ranks: int
    batch_size: int | None
    # what the ranks ran; the verdict begins with it where these are several
    programs: tuple[str, ...]
    points: tuple[HistoryPoint, ...]
    judged: str
    series: tuple[Trend, ...]
    losses: tuple[LossTrend, ...]  # empty without loss accounts
    with_last_change: str

    @property
    def speed(self) -> Trend:
        """The trend that is judged."""
        return next(row for row in self.series if row.id == self.judged)


@dataclass(frozen=True)
class Badge:
    """What a badge says of the group of the newest run."""

    label: str
    text: str
    status: str


@dataclass(frozen=True)
class Unread:
    """A run that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class History:
    """What a history found."""

    factor: float  # what a change must reach
    level: float  # of its test
    least_points: int  # the fewest that can show a change
    groups: tuple[HistoryGroup, ...]  # most points first
    left_out: tuple[NotCounted, ...]
    programs: tuple[str, ...]
    badge: Badge
    unreadable: tuple[Unread, ...]
