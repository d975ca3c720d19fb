"""study.json, whole, of which docs/study-json.md is made."""

from typing import Literal

from perfscope.schema.compare import Compare
from perfscope.schema.findings import HowMeasured, Outcome
from perfscope.schema.history import History
from perfscope.schema.restarts import Restarts
from perfscope.schema.run import Commit, Tool
from perfscope.schema.scaling import ScalingResult
from perfscope.schema.sweep_result import SweepResult
from perfscope.structures import dataclass

StudyKind = Literal["scaling", "sweep", "compare", "history", "restarts"]


@dataclass(frozen=True)
class StudyVerdict:
    """The sentence on the first screen."""

    status: str
    sentence: str


@dataclass(frozen=True)
class StudyRunRow:
    """What identifies a run of a study, and how it came out; null is not known."""

    label: str
    path: str | None
    command: tuple[str, ...]
    ranks: int | None
    hosts: int | None
    cores: int | None
    devices: int | None
    launcher: str | None
    wall_s: float | None
    focus_s: float | None
    steps: int | None
    batch_size: int | None
    samples_per_s: float | None
    step_s_median: float | None
    parallel_efficiency: float | None
    exit_code: int | None
    ending: str | None  # null when every rank ended by itself
    # its own page, as a link from the page of the study; null where there is none
    report: str | None


@dataclass(frozen=True)
class HistoryRunRow(StudyRunRow):
    """A run of a history: when it ran, and of which commit."""

    start_unix_s: float | None
    day: str
    commit: Commit | None


@dataclass(frozen=True)
class SweepRunRow(StudyRunRow):
    """A run of a sweep: of which configuration, and how it ended."""

    configuration: int
    repeat: int
    end: str
    output: str
    quality: float | None
    transport: dict[str, str]
    pinning: dict[str, str]


@dataclass(frozen=True)
class StudyFindingRow(Outcome):
    """The outcome of one diagnosis of several runs, and the labels of those that show it."""

    scope: Literal["study"]
    runs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Study:
    """study.json, whole; what its kind found stands under the name of the kind."""

    schema_version: Literal["1"]
    kind: StudyKind  # what this kind found stands under its name
    tool: Tool
    verdict: StudyVerdict
    runs: tuple[StudyRunRow | HistoryRunRow | SweepRunRow, ...]
    scaling: ScalingResult | None = None
    sweep: SweepResult | None = None
    compare: Compare | None = None
    history: History | None = None
    restarts: Restarts | None = None
    findings: tuple[StudyFindingRow, ...]
    how_measured: tuple[HowMeasured, ...]
