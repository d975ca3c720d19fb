"""What is known of a running job at one moment."""

from perfscope.schema.common import Metric
from perfscope.standstill.now import Pending, RankNow
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Steps:
    """How the training gets on."""

    last: int  # the last step that every rank with steps has finished
    per_s: float  # of the slowest rank over the window
    samples_per_s: float | None  # of all ranks over the window, None where they do not tell


@dataclass(frozen=True)
class Late:
    """How long others waited in the window for one rank, and what it did meanwhile."""

    rank: int
    waiting_s: float
    times: int
    place: str


@dataclass(frozen=True)
class HostMemory:
    """Memory of one host: what its ranks hold, what is left, and for how long at this pace."""

    host: str  # its name
    held_bytes: int  # resident memory of its ranks
    # that they may still take, the control group's limit and the node's memory considered; None
    # unknown
    room_bytes: int | None
    limit: str  # what sets that
    growth_bytes_per_s: float  # steady growth of its ranks together, 0 without
    left_s: float | None  # until nothing is left at this pace; None without steady growth


@dataclass(frozen=True)
class GpuNow:
    """One GPU over the window; None where the driver does not tell."""

    host: str
    name: str
    idle: float | None
    memory_bytes: int | None
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class ProcessNow:
    """A process of the job as its kernel shows it, recorded or not."""

    pid: int  # its number
    state: str  # what it does: runs, sleeps, is stopped
    cpu_s: float  # the CPU time that it has had
    command: str  # its program and arguments, without secrets


@dataclass(frozen=True)
class Picture:
    """A running job at one moment, and over the window before it."""

    source: str  # the run directory
    command: str  # what runs
    at_unix_s: float  # the last sign of life of any rank
    age_s: float  # how long ago that was, by the wall clock; 0 once the job is over
    running_s: float  # since the start of the job
    window_s: float  # length of the window that rates and efficiencies are taken over
    exit_code: int | None  # of the command, None while it runs
    world_size: int  # ranks that the job has
    ranks: tuple[RankNow, ...]  # those that are recorded, none before the first one is
    steps: Steps | None  # how the training gets on, None where there are no steps
    parallel_efficiency: Metric  # over the window, as `perfscope analyze` defines it
    load_balance: Metric  # over the window
    communication_efficiency: Metric  # over the window
    late: tuple[Late, ...]  # for whom others waited in the window, most first
    memory: tuple[HostMemory, ...]  # by host
    gpus: tuple[GpuNow, ...]  # those that are sampled
    pending: tuple[Pending, ...]  # collectives in which ranks wait, longest first
    # how long no rank has finished a call, a step or a phase: until now, whether any gives signs of
    # life or not
    stalled_s: float
    notes: tuple[str, ...] = ()  # what could not be read
    # processes that are there before MPI has told any which rank it is; 0 where ranks are known
    starting: int = 0
    asked_for: int | None = None  # ranks that the command asks its launcher for, None unknown
    # those of this host that descend from `perfscope run`, where that looks itself
    processes: tuple[ProcessNow, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the command has ended, or every rank has."""
        if self.exit_code is not None:
            return True
        return bool(self.ranks) and all(rank.has_ended for rank in self.ranks)
