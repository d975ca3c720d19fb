"""What is known of a running job at one moment."""

from perfscope.schema.common import Metric
from perfscope.structures import dataclass

COMPUTING, ASLEEP = "computing", "asleep"


@dataclass(frozen=True)
class RankNow:
    """One rank at the moment of the picture.

    Attributes:
        number: of the rank.
        host: where it runs.
        pid: its process.
        doing: the call it is in, else `COMPUTING` or `ASLEEP`; how it ended, where it did.
        since_s: how long it has been in that call, or since its last call, step or phase.
        place: the user's innermost function with file and line, "" unknown.
        stack: the whole Python stack as last sampled, outermost first.
        sampled_s: how long ago that was, None without a sample.
        step: the last step that it finished, None without one.
        memory_bytes: resident, None where it is not sampled.
        silent_s: since its last sign of life.
        has_ended: whether it is over.
        lacks_detail: single calls are no longer recorded, so that it may be in one.
    """

    number: int
    host: str
    pid: int
    doing: str
    since_s: float
    place: str
    stack: tuple[str, ...]
    sampled_s: float | None
    step: int | None
    memory_bytes: int | None
    silent_s: float
    has_ended: bool = False
    lacks_detail: bool = False


@dataclass(frozen=True)
class Pending:
    """A collective that some ranks are in and others are not.

    Attributes:
        operation: its name.
        communicator: what it is on.
        ordinal: the how many-th collective on that communicator it is, from 0.
        inside: ranks that wait in it.
        missing: members that are not in it.
        since_s: how long the first of them has waited.
        is_mismatch: its members called different operations there, which can never end.
    """

    operation: str
    communicator: str
    ordinal: int
    inside: tuple[int, ...]
    missing: tuple[int, ...]
    since_s: float
    is_mismatch: bool = False


@dataclass(frozen=True)
class Steps:
    """How the training gets on.

    Attributes:
        last: the last step that every rank with steps has finished.
        per_s: of the slowest rank over the window.
        samples_per_s: of all ranks over the window, None where they do not tell.
    """

    last: int
    per_s: float
    samples_per_s: float | None


@dataclass(frozen=True)
class Late:
    """How long others waited in the window for one rank, and what it did meanwhile."""

    rank: int
    waiting_s: float
    times: int
    place: str


@dataclass(frozen=True)
class HostMemory:
    """Memory of one host: what its ranks hold, what is left, and for how long at this pace.

    Attributes:
        host: its name.
        held_bytes: resident memory of its ranks.
        room_bytes: that they may still take, the control group's limit and the node's memory
            considered; None unknown.
        limit: what sets that.
        growth_bytes_per_s: steady growth of its ranks together, 0 without.
        left_s: until nothing is left at this pace; None without steady growth.
    """

    host: str
    held_bytes: int
    room_bytes: int | None
    limit: str
    growth_bytes_per_s: float
    left_s: float | None


@dataclass(frozen=True)
class GpuNow:
    """One GPU over the window; None where the driver does not tell."""

    host: str
    name: str
    idle: float | None
    memory_bytes: int | None
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Picture:
    """A running job at one moment, and over the window before it.

    Attributes:
        source: the run directory.
        command: what runs.
        at_unix_s: the moment: the last sign of life of any rank.
        age_s: how long before now that was, by the wall clock.
        running_s: since the start of the job.
        window_s: length of the window that rates and efficiencies are taken over.
        exit_code: of the command, None while it runs.
        world_size: ranks that the job has.
        ranks: those that are recorded.
        steps: how the training gets on, None where there are no steps.
        parallel_efficiency: over the window, as `perfscope analyze` defines it.
        load_balance: over the window.
        communication_efficiency: over the window.
        late: for whom others waited in the window, most first.
        memory: by host.
        gpus: those that are sampled.
        no_gpus: why there are none.
        pending: collectives in which ranks wait, longest first.
        stalled_s: how long no rank has finished a call, a step or a phase.
        notes: what could not be read.
    """

    source: str
    command: str
    at_unix_s: float
    age_s: float
    running_s: float
    window_s: float
    exit_code: int | None
    world_size: int
    ranks: tuple[RankNow, ...]
    steps: Steps | None
    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    late: tuple[Late, ...]
    memory: tuple[HostMemory, ...]
    gpus: tuple[GpuNow, ...]
    no_gpus: str
    pending: tuple[Pending, ...]
    stalled_s: float
    notes: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the command has ended, or every rank has."""
        return self.exit_code is not None or all(rank.has_ended for rank in self.ranks)
