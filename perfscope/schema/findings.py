"""Findings and checks of quality."""

from perfscope.schema.common import Place
from perfscope.schema.enums import AwaitedThing, Basis, Confidence, Status
from perfscope.structures import dataclass


@dataclass(frozen=True)
class FindingEvidence:
    """One measured fact, and what it should be."""

    label: str
    value: str | float
    unit: str
    expected: str


@dataclass(frozen=True)
class Holder:
    """Who was at work while ranks waited for a lock, a queue or a thread, which it may well keep.

    Attributes:
        rank: whose thread it is.
        thread: its name, or null: unknown, or the main thread of another rank than that which
            waits.
        where: the user's function in which it was seen most meanwhile, or null.
        share: of the samples of the wait, those in which it was seen at work; null where it was
            told by CPU time.
    """

    kind: AwaitedThing
    rank: int
    thread: str | None
    where: Place | None
    share: float | None


@dataclass(frozen=True)
class FirstAction:
    """What the first action saves: what a headline promises."""

    gain_s: float
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_run_share: float | None
    gain_basis: Basis | None


@dataclass(frozen=True)
class PlannedRun:
    """What a run of so many steps would save.

    Attributes:
        gain_s: of the first action, in proportion to the steps of this run, or null with the
            `reason`.
        runtime_s: that is left.
    """

    steps: int
    gain_s: float | None
    runtime_s: float | None
    reason: str | None


@dataclass(frozen=True)
class Outcome:
    """The outcome of one diagnosis of a run or of a study.

    Attributes:
        id: of the diagnosis ([findings.md](findings.md)).
        status: `fail` (act on it), `warn` (small or uncertain), `not_measured` (the summary names
            the option that would measure it), `error` (the diagnosis itself failed).
        gain_s: what the job as a whole would take less; null when no seconds are claimed.
        gain_interval_s: 95 % interval, or null: an upper bound has none, and a run with too few
            segments to tell one.
        gain_share: of the focus of analysis.
        assumptions: sentences: what the replay of this gain takes for granted; empty without a
            replay.
        ranks: numbers of those that it is about.
        window_s: first and last moment, or null.
        actions: what to do, most effective first.
        references: where the method is described.
        overlaps: ids of findings whose gains do not add to this one.
    """

    id: str
    status: Status
    title: str
    summary: str
    gain_s: float | None
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_basis: Basis | None
    assumptions: tuple[str, ...]
    confidence: Confidence
    ranks: tuple[int, ...]
    window_s: tuple[float, float] | None
    where: tuple[Place, ...]
    evidence: tuple[FindingEvidence, ...]
    actions: tuple[str, ...]
    references: tuple[str, ...]
    overlaps: tuple[str, ...]


@dataclass(frozen=True)
class FindingRow(Outcome):
    """The outcome of one diagnosis of a run, and what its first action saves.

    Attributes:
        gain_run_share: of the whole run (`run.wall_s`).
        first_action: the first of `actions`, null when no seconds are claimed; it differs from the
            gain of the finding where the first action takes away a part of what the fault costs.
        planned: null without `--planned-steps` or a gain.
        holder: who was seen at work while ranks waited for a lock, a queue or a thread; else null.
    """

    gain_run_share: float | None
    first_action: FirstAction | None
    planned: PlannedRun | None
    holder: Holder | None


@dataclass(frozen=True)
class QualityRow:
    """One check of whether the result can be trusted."""

    id: str
    status: Status
    title: str
    detail: str


@dataclass(frozen=True)
class HowMeasured:
    """What a number of this run means."""

    term: str
    text: str
