"""What ran, and the verdict."""

from dataclasses import dataclass
from typing import Any, Literal

from perfscope.schema.common import Metric
from perfscope.schema.enums import EndKind, Status


@dataclass(frozen=True)
class Tool:
    """What wrote the document."""

    name: str
    version: str


@dataclass(frozen=True)
class Commit:
    """The commit of the program, as git had it checked out where the run was started."""

    id: str
    branch: str | None

    @property
    def short(self) -> str:
        """The first letters of the commit, as git shows it."""
        return self.id[:10]

    @property
    def text(self) -> str:
        """Commit and branch in words."""
        return f"{self.short} ({self.branch})" if self.branch else self.short


@dataclass(frozen=True)
class Damage:
    """What is wrong with the recording as a whole, and which figures it spoils."""

    id: str
    text: str
    spoils: tuple[str, ...]


@dataclass(frozen=True)
class Host:
    """One host and the numbers of its ranks."""

    name: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RaisedException:
    """The exception that ended a rank, and where it was raised."""

    type: str
    message: str
    file: str
    line: int


@dataclass(frozen=True)
class Ending:
    """How one rank ended; times are those of its process."""

    rank: int
    host: str
    pid: int
    kind: EndKind
    code: int | None
    text: str
    start_s: float
    end_s: float
    in_operation: str | None
    exception: RaisedException | None
    is_out_of_memory: bool
    is_first: bool


@dataclass(frozen=True)
class Throughput:
    """How fast the run trained, and how many steps that is taken from."""

    samples: int | None
    samples_per_s: Metric
    step_s_median: Metric
    step_s_p95: Metric
    epoch_s_median: Metric
    time_to_solution_s: Metric
    steps: int
    step_source: str | None


@dataclass(frozen=True)
class Run:
    """What ran, where, and how it ended."""

    command: tuple[str, ...]
    program: str | None
    commit: Commit | None
    source: str
    start_unix_s: float
    wall_s: float
    launcher: str
    exit_code: int | None
    ranks: int
    recorded_ranks: int
    missing_ranks: tuple[int, ...]
    incomplete_ranks: tuple[int, ...]
    damage: tuple[Damage, ...]
    hosts: tuple[Host, ...]
    focus_of_analysis_s: tuple[float, float]
    focus_kind: str
    focus_reason: str
    endings: tuple[Ending, ...]
    throughput: Throughput
    batch_size: int | None
    versions: dict[str, str]
    environment: dict[str, str]
    topology: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class JudgedEfficiency:
    """The efficiency that the run is judged by."""

    id: Literal["device_efficiency", "parallel_efficiency"]
    label: str
    value: float | None
    reason: str | None


@dataclass(frozen=True)
class Verdict:
    """The sentence on the first screen, and what the first actions save together."""

    sentence: str
    status: Status
    efficiency: JudgedEfficiency
    combined_gain_s: float | None
    combined_gain_share: float | None
    combined_gain_run_share: float | None
    combined_of: tuple[str, ...]
    combined_text: str | None
    top: tuple[str, ...]
