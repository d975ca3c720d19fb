"""What ran, and the verdict."""

from typing import Any, Literal

from perfscope.schema.common import Metric
from perfscope.schema.enums import EndKind, Status
from perfscope.structures import dataclass


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
    """What is wrong with the recording as a whole, and which figures it spoils.

    Attributes:
        id: `missing_ranks`, `endings`, `dropped_records`, `separate_worlds`, `mixed_runs`,
            `unequal_programs`, `unequal_calls`, `clocks`, `units_of_time`, `stray_events`,
            `doubled_rank`, `world_size`, `replay_error`, `thinned_away`, or what a reader found.
        text: the first words of the verdict.
        spoils: `every_rank`: figures that compare or add up ranks are withheld; `to_the_end`:
            shares of the whole run are.
    """

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
    """How one rank ended; times are those of its process.

    Attributes:
        code: exit code or signal number.
        in_operation: the call in which it ended, null outside any.
        exception: what was raised and not caught, null without.
        is_out_of_memory: its own samples tell that the kernel killed it for want of memory.
        is_first: the first that did not end by itself.
    """

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
    """How fast the run trained, and how many steps that is taken from.

    Attributes:
        samples: that all ranks processed, null when not known.
        steps: their number.
        step_source: what told them: `marker`, `framework`, `collectives`; null without steps.
    """

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
    """What ran, where, and how it ended.

    Attributes:
        command: its words, secrets redacted.
        program: what the ranks ran, by name; null unknown.
        commit: null when not known.
        source: where the recording was read from.
        start_unix_s: wall-clock time of second 0; null where the recording does not tell it.
        wall_s: from the start of the launcher to its end.
        launcher: `mpirun (MPICH)`, `direct`, ....
        exit_code: of the command, null when not known.
        ranks: of the job.
        recorded_ranks: that left a recording.
        missing_ranks: numbers of those that left none.
        incomplete_ranks: numbers of those that did not end by themselves.
        damage: empty where the recording is whole; else `perfscope analyze` ends with exit code 4.
        focus_of_analysis_s: start and end of the time over which everything is measured.
        focus_kind, focus_reason: how it was chosen.
        batch_size: null when not known.
        versions: of libraries, by name.
        environment: an allow-list, redacted.
        topology: for each host: `host`, `sockets`, `cores`, `smt`, `numa_nodes`, `cpus`, `fabrics`
            (devices of a fast network with their rate), `link_mbit_s` (the fastest interface) as
            far as known.
    """

    command: tuple[str, ...]
    program: str | None
    commit: Commit | None
    source: str
    start_unix_s: float | None
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
    """The efficiency that the run is judged by.

    Attributes:
        id: that of the devices where they were measured.
    """

    id: Literal["device_efficiency", "parallel_efficiency"]
    label: str
    value: float | None
    reason: str | None


@dataclass(frozen=True)
class Verdict:
    """The sentence on the first screen, and what the first actions save together.

    Attributes:
        status: `info` when nothing can be said.
        efficiency: also that of `--fail-under`.
        combined_gain_s: what the first actions of the `top` findings save when all are taken,
            replayed together; gains do not add up.
        combined_gain_share, combined_gain_run_share: the same as a share of the focus of analysis,
            and of the whole run (`run.wall_s`).
        combined_of: ids of the findings that it counts: the only one with seconds, or all that
            could be replayed at once; empty without a sum.
        combined_text: the same in words, which say how many findings count and whether it is a
            bound; null where fewer than two were replayed at once.
        top: ids of at most three findings, most seconds first.
    """

    sentence: str
    status: Status
    efficiency: JudgedEfficiency
    combined_gain_s: float | None
    combined_gain_share: float | None
    combined_gain_run_share: float | None
    combined_of: tuple[str, ...]
    combined_text: str | None
    top: tuple[str, ...]
