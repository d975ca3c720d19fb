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
    """What is wrong with the recording as a whole, and which figures it spoils."""

    # `missing_ranks`, `endings`, `dropped_records`, `separate_worlds`, `mixed_runs`,
    # `unequal_programs`, `unequal_calls`, `clocks`, `units_of_time`, `stray_events`,
    # `doubled_rank`, `world_size`, `unknown_size`, `replay_error`, `thinned_away`, or what a reader
    # found
    id: str
    text: str  # the first words of the verdict
    # `every_rank`: figures that compare or add up ranks are withheld; `to_the_end`: shares of the
    # whole run are
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
    code: int | None  # exit code or signal number
    text: str
    start_s: float
    end_s: float
    in_operation: str | None  # the call in which it ended, null outside any
    exception: RaisedException | None  # what was raised and not caught, null without
    is_out_of_memory: bool  # its own samples tell that the kernel killed it for want of memory
    is_first: bool  # the first that did not end by itself


@dataclass(frozen=True)
class StepKind:
    """Steps that take about equally long, where the others do not."""

    count: int
    median_s: float


@dataclass(frozen=True)
class Throughput:
    """How fast the run trained, and how many steps that is taken from."""

    samples: int | None  # that all ranks processed, null when not known
    samples_per_s: Metric
    # of the time that `samples_per_s` is of; its value is null without that, and of a pattern
    step_s_mean: Metric
    step_s_median: Metric
    step_s_p95: Metric
    epoch_s_median: Metric
    time_to_solution_s: Metric
    steps: int  # their number
    # what told them: `marker`, `framework`, `collectives`; null without steps
    step_source: str | None
    # where they are of two kinds, of which one takes longer: the shorter ones first; else none
    step_kinds: tuple[StepKind, ...] = ()


@dataclass(frozen=True)
class Run:
    """What ran, where, and how it ended."""

    command: tuple[str, ...]  # its words, secrets redacted
    program: str | None  # what the ranks ran, by name; null unknown
    commit: Commit | None  # null when not known
    source: str  # where the recording was read from
    # wall-clock time of second 0; null where the recording does not tell it
    start_unix_s: float | None
    wall_s: float  # from the start of the launcher to its end
    launcher: str  # `mpirun (MPICH)`, `direct`, ...
    exit_code: int | None  # of the command, null when not known
    ranks: int  # of the job
    recorded_ranks: int  # that left a recording
    missing_ranks: tuple[int, ...]  # numbers of those that left none
    incomplete_ranks: tuple[int, ...]  # numbers of those that did not end by themselves
    # empty where the recording is whole; else `perfscope analyze` ends with exit code 4
    damage: tuple[Damage, ...]
    hosts: tuple[Host, ...]
    # start and end of the time over which everything is measured
    focus_of_analysis_s: tuple[float, float]
    focus_kind: str  # how it was chosen
    focus_reason: str  # how it was chosen
    endings: tuple[Ending, ...]
    throughput: Throughput
    batch_size: int | None  # null when not known
    versions: dict[str, str]  # of libraries, by name
    environment: dict[str, str]  # an allow-list, redacted
    # for each host: `host`, `sockets`, `cores`, `smt`, `numa_nodes`, `cpus`, `fabrics` (devices of
    # a fast network with their rate), `link_mbit_s` (the fastest interface) as far as known
    topology: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class JudgedEfficiency:
    """The efficiency that the run is judged by."""

    # that of the devices where they were measured
    id: Literal["device_efficiency", "parallel_efficiency"]
    label: str
    value: float | None
    reason: str | None


@dataclass(frozen=True)
class Verdict:
    """The sentence on the first screen, and what the first actions save together."""

    sentence: str
    # what to do first where no finding says it, in sentences; "" where one does
    action: str
    # the functions that compute most, in sentences; "" beside a major problem, and where no few do
    hot_spots: str
    status: Status  # `info` when nothing can be said
    efficiency: JudgedEfficiency  # also that of `--fail-under`
    # what the first actions of the `top` findings save when all are taken, replayed together; gains
    # do not add up
    combined_gain_s: float | None
    combined_gain_share: float | None  # the same as a share of the focus of analysis
    combined_gain_run_share: float | None  # the same as a share of the whole run (`run.wall_s`)
    # ids of the findings that it counts: the only one with seconds, or all that could be replayed
    # at once; empty without a sum
    combined_of: tuple[str, ...]
    # the same in words, which say how many findings count and whether it is a bound; null where
    # fewer than two were replayed at once
    combined_text: str | None
    top: tuple[str, ...]  # ids of at most three findings, most seconds first
    # what processes outside the job cost the run, where the sentence tells it; else null
    others_s: float | None = None
    # what the whole run takes at least on an idle host, where the sentence tells `others_s`; else
    # null. Steps that took more CPU time than others count as slowed down by other work, on all
    # ranks as on the one that varies most: a program whose own steps differ takes far more
    idle_low_s: float | None = None
    # what it takes at most there: without what each rank itself waited for CPUs, and no faster
    idle_high_s: float | None = None
    # place in `losses.entries` of the loss that the sentence names as the largest; null for none
    largest_loss: int | None = None
    # how near predicted savings have been in programs that were fixed and timed, and what that
    # means for the saving in the sentence; "" where it tells none
    track_record: str = ""
    # what processes outside the job cost, with which the sentence begins; "" where that is little
    host: str = ""
    # whether to trust that nothing was found: what was looked at, what it would have shown, and
    # what nobody looked at, in sentences; "" where a finding leads, and where nothing is known
    assurance: str = ""
