"""What a comparison found: the part `compare` of study.json."""

from enum import Enum
from typing import Literal

from perfscope.schema.enums import Basis
from perfscope.structures import dataclass

Change = Literal["gone", "new", "stayed", "between"]


class Answer(Enum):
    """What a comparison says of a side against the first one."""

    SLOWER = "slower"
    UNKNOWN = "unknown"  # too few runs to say anything
    UNCLEAR = "unclear"  # the interval holds both no difference and one beyond the factor
    SAME = "same"  # the whole interval lies within the factor
    FASTER = "faster"


@dataclass(frozen=True)
class NotCounted:
    """The place of a run in the study's list, and why it does not count."""

    run: int
    reason: str


@dataclass(frozen=True)
class ComparedSide:
    """One side: the places of its runs in the study's list."""

    label: str
    runs: tuple[int, ...]
    left_out: tuple[NotCounted, ...]


@dataclass(frozen=True)
class Judge:
    """The measure that is judged, and why it was chosen."""

    id: str
    label: str
    unit: str
    is_lower_better: bool
    why: str


@dataclass(frozen=True)
class SideDifference:
    """What else is not alike: the value of each side, null where it is not set."""

    kind: str
    name: str
    values: tuple[str | None, ...]
    varies_within: bool


@dataclass(frozen=True)
class Repeats:
    """Values of the repeats, and their median, lowest and highest; null where no run has any."""

    values: tuple[float | None, ...]
    # what changes are told against: the geometric mean where Student's t compares the sides, whose
    # ratios are of these, else the median
    typical: float | None
    median: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True)
class WithinRuns:
    """What the steps of the first run of each side say of these two runs alone."""

    ratio: float
    interval: tuple[float, float]
    steps: tuple[int, int]


@dataclass(frozen=True)
class PredictedGain:
    """A finding of the first side: what it predicted, and whether it is gone."""

    id: str
    title: str
    gone: bool
    predicted_s: float
    interval_s: tuple[float, float] | None
    basis: Basis | None


@dataclass(frozen=True)
class PredictedGains:
    """What findings predicted beside what was obtained, in seconds of the focus of analysis.

    Where the sides did different numbers of steps, what was obtained is told for the steps of the
    first. `predicted_s` is of all that are gone together, null with the `reason`;
    `obtained_range_s` is over pairs of runs.
    """

    rows: tuple[PredictedGain, ...]
    predicted_s: float | None
    predicted_interval_s: tuple[float, float] | None
    reason: str | None
    obtained_s: float
    obtained_range_s: tuple[float, float]
    relative_error: float | None


@dataclass(frozen=True)
class Comparison:
    """One side against the first; ratios are after / before, of `slowdown` above 1 is slower."""

    side: str
    against: str
    answer: Answer
    before: Repeats
    after: Repeats
    ratio: float | None
    interval: tuple[float, float] | None
    p: float | None
    method: str  # `ranks`, `student`, `none`
    counts: tuple[int, int]
    reason: str  # why not known
    slowdown: float | None
    detectable: float | None  # share that so many runs would show
    within_runs: WithinRuns | None  # null unless each side is a single run
    prediction: PredictedGains | None  # null without gains


@dataclass(frozen=True)
class ComparedMeasure:
    """One measure of every side, and the change of each side from the first."""

    id: str
    label: str
    unit: str
    is_lower_better: bool
    sides: tuple[Repeats, ...]
    ratios: tuple[float | None, ...]  # against the first side
    intervals: tuple[tuple[float, float] | None, ...]  # against the first side
    reason: str | None


@dataclass(frozen=True)
class EfficiencyOfSide:
    """The median of a side's runs, or why there is none."""

    value: float | None
    lowest: float | None
    highest: float | None
    reason: str | None


@dataclass(frozen=True)
class ComparedEfficiency:
    """One efficiency of every side; `change` is from the first to the last."""

    id: str
    depth: int
    sides: tuple[EfficiencyOfSide, ...]
    change: float | None


@dataclass(frozen=True)
class ChangedPart:
    """Seconds per rank (mean) in one part of the time, and two standard errors of their change."""

    id: str
    label: str
    from_s: float
    to_s: float
    delta_s: float
    error_s: float | None


@dataclass(frozen=True)
class WaterfallStep:
    """From one side to the next: what changed, most first."""

    from_: int
    to: int
    parts: tuple[ChangedPart, ...]


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """The change of each part of the time from each side to the next, in seconds per rank (mean).

    `reason` says why there is none, else "". `totals_s` is one a side, and `speedups` are over the
    first side.
    """

    reason: str
    per_step: bool
    totals_s: tuple[float, ...] = ()
    speedups: tuple[float | None, ...] = ()
    steps: tuple[WaterfallStep, ...]


@dataclass(frozen=True)
class RunsWithIt:
    """On how many runs of a side a finding stands."""

    runs_with_it: int
    runs: int


@dataclass(frozen=True)
class FindingChange:
    """A finding that stands on a side, and whether it went or came from the first to the last."""

    id: str
    title: str
    change: Change
    sides: tuple[RunsWithIt, ...]


@dataclass(frozen=True)
class Compare:
    """What a comparison found."""

    sides: tuple[ComparedSide, ...]
    unit: Judge
    factor: float  # what a difference must reach
    level: float  # of the test
    unlike: tuple[str, ...]  # sentences, empty when like is compared with like
    differences: tuple[SideDifference, ...]
    comparisons: tuple[Comparison, ...]  # of each side after the first
    measures: tuple[ComparedMeasure, ...]
    efficiencies: tuple[ComparedEfficiency, ...]
    waterfall: Waterfall
    # as `waterfall`, for training work and what the time was lost to in place of accounts
    losses: Waterfall
    # empty where the first or the last side has no run that counts
    finding_changes: tuple[FindingChange, ...]
    finding_changes_reason: str | None  # why findings cannot be compared, null when they can
