"""Memory, stacks, threads and files."""

from typing import Any

from perfscope.schema.common import Place, Series
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass


@dataclass(frozen=True)
class MemoryOfRank:
    """Resident memory of one rank over time."""

    rank: int  # number of the rank
    host: str  # where it ran
    peak_bytes: int  # the largest
    start_bytes: int  # median of the first tenth of the focus of analysis
    end_bytes: int  # median of the last tenth
    slope_bytes_per_s: float | None  # Theil-Sen over the last half of the focus
    limit_bytes: int | None  # of its control group, which ranks of a node mostly share
    peak_phase: str  # the phase in which it was largest, empty outside any
    # proportional memory (PSS: a page that n processes share counts 1/n) of the rank and its
    # `descendants` at the peak, null where it was not read
    tree_bytes: int | None
    descendants: int  # processes that it started, and theirs
    series: Series  # over time


@dataclass(frozen=True)
class MemoryOfNode:
    """Memory of one host."""

    host: str
    total_bytes: int | None
    least_available_bytes: int | None
    oom_kills: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class MemoryLine:
    """Memory that a line of the program allocated in the window and did not give back.

    The line is the user's innermost one on the way to the allocation, `allocator` the innermost
    function where that is another.
    """

    function: str
    file: str
    line: int
    kept_bytes: int
    count: int  # allocations
    allocator: Place | None  # the place inside a library, or null


@dataclass(frozen=True)
class MemoryLinesOfRank:
    """Memory by line of one rank over the longest window that was watched behind its warm-up.

    `is_whole_life`: the only window was closed by the end of the program.
    """

    rank: int
    engine: str
    reason: str | None  # why there are no lines or no more of them, or null
    window_s: tuple[float, float]
    is_whole_life: bool
    kept_bytes: int  # allocated in the window and not freed; of a growth what the process grew by
    lines: tuple[MemoryLine, ...]  # at most 10, most first
    # bytes are what the process grew by while a line ran, and not what it allocated
    is_growth: bool = False


@dataclass(frozen=True)
class MemoryLines:
    """Memory by line, or why no rank was watched."""

    reason: str | None  # why no rank was watched by line (`--memory-detail`), else null
    ranks: tuple[MemoryLinesOfRank, ...]


@dataclass(frozen=True)
class Memory:
    """Memory of ranks and hosts, or why it is not known."""

    reason: str | None  # why the format of a trace does not hold it, else null
    ranks: tuple[MemoryOfRank, ...]
    nodes: tuple[MemoryOfNode, ...]
    lines: MemoryLines


@dataclass(frozen=True)
class MissingStacks:
    """A rank without all of its stacks; -1 is a process that is no rank."""

    rank: int
    reason: str


@dataclass(frozen=True)
class StackNode:
    """One function below what called it, callers first; the parent -1 is none.

    `self_s` is in it alone, also in callees that were left out; `seconds_by_rank` of the ranks that
    the phase lists.
    """

    parent: int
    function: str
    file: str
    line: int  # seen most
    is_user: bool
    seconds: float  # with what it called
    self_s: float
    seconds_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class TopFunction:
    """A function with most time of its own, and that with what it called, wherever that was."""

    function: str
    file: str
    line: int
    is_user: bool
    self_s: float
    total_s: float  # recursive calls count once


@dataclass(frozen=True)
class StacksOfPhase:
    """The call tree of one phase, or of what stands outside any.

    `seconds` are those of the phase, all ranks together, `sampled_s` those of it with a known
    stack, and `left_out_s` were spent in nodes too small to be shown.
    """

    # of `phases`, or `start_up`, `shutdown`, `communication` and `outside` (no phase), `others`
    # (workers and other threads)
    id: str
    label: str
    seconds: float
    sampled_s: float
    ranks: tuple[int, ...]  # the 8 with most time
    nodes: tuple[StackNode, ...]
    # functions below 0.5 % of the phase, deeper than 48 levels, or behind the first 240
    nodes_left_out: int
    left_out_s: float
    top: tuple[TopFunction, ...]  # at most 10


@dataclass(frozen=True)
class Stacks:
    """Where time went by call stack; in `waiting_s` workers and other threads only waited."""

    reason: str | None  # why there are none, else null
    hz: float  # samples asked for
    ranks: tuple[int, ...]  # with stacks
    missing: tuple[MissingStacks, ...]
    paused_s: float  # between the segments of a long run, of the rank with most
    waiting_s: float
    phases: tuple[StacksOfPhase, ...]  # at most 16, most sampled seconds first
    phases_left_out: int


@dataclass(frozen=True)
class NoStacks:
    """Why there are no stacks."""

    reason: str
    phases: tuple[Any, ...]  # empty
    missing: tuple[Any, ...]  # empty


@dataclass(frozen=True)
class ThreadGroup:
    """Threads of a process that share a name, over its whole life."""

    stem: str
    count: int
    cpu_s: float
    runnable_mean: float


@dataclass(frozen=True)
class ThreadsOfRank:
    """Threads and CPU time of one rank inside the focus of analysis."""

    rank: int  # number of the rank
    host: str  # where it ran
    pool_threads: int | None  # of the largest pool of a library, null where none is known
    threads_max: int  # most threads at a time
    runnable_mean: float  # threads that run or want to
    runnable_p95: float  # the same, exceeded in 5 % of the samples
    cpu_s: float  # CPU seconds of all of its threads
    cpu_utilization: float  # CPU seconds over the focus times the CPUs available to the rank
    queue_delay_s: float  # time that runnable threads waited for a CPU, summed over threads
    involuntary_switches: int  # how often a thread was taken off its CPU
    voluntary_switches: int  # how often one gave it up
    cpus_allowed: str  # affinity mask
    cpus_available: float  # affinity mask and quota of the control group, whichever is smaller
    groups: tuple[ThreadGroup, ...]  # threads by name
    threads_series: Series  # threads over time
    runnable_series: Series  # those that run or want to
    cpu_series: Series  # CPUs busy


@dataclass(frozen=True)
class ThreadsOfNode:
    """Threads that want to run against the CPUs of one host."""

    host: str
    ranks: tuple[int, ...]
    cpus: float
    runnable_mean: float | None
    runnable_p95: float | None
    ranks_sharing_a_cpu: tuple[int, ...]


@dataclass(frozen=True)
class WorkersActivity:
    """Part of what worker processes did, by stack samples."""

    activity: Activity
    share: float  # of the samples in which they worked


@dataclass(frozen=True)
class WorkersOfRank:
    """Processes that work for a rank (loader workers, pools, other programs), in the focus.

    Stack samples of their main threads tell what they do, in those that recorded any.
    """

    rank: int  # number of the rank
    processes: int  # with samples
    working_samples: int  # in which they worked
    waiting_samples: int  # in which they waited for work, or for room in a queue
    cpu_share: float | None  # of the time that they lived, in which they used a CPU; null unknown
    queue_share: float | None  # of that time, in which they waited for a CPU; null unknown
    activities: tuple[WorkersActivity, ...]  # of their work, largest share first
    where: Place | None  # the user's function in which they worked most, or null
    where_share: float  # of the samples in which they worked, those in that function


@dataclass(frozen=True)
class Threads:
    """Threads of ranks and hosts, or why they are not known."""

    reason: str | None  # why the format of a trace does not hold them, else null
    ranks: tuple[ThreadsOfRank, ...]
    nodes: tuple[ThreadsOfNode, ...]
    workers: tuple[WorkersOfRank, ...] = ()  # of ranks whose worker processes were sampled


@dataclass(frozen=True)
class InputOutput:
    """Bytes that each rank read and wrote, and seconds that it waited for a device."""

    reason: str | None  # why the format of a trace does not hold it, else null
    # seconds of the focus in which a thread of the rank waited for a device, none ran, and the rank
    # was not communicating; null: not sampled
    stalled_s_by_rank: tuple[float | None, ...]
    read_bytes_by_rank: tuple[int, ...]  # pipes and sockets included
    written_bytes_by_rank: tuple[int, ...]  # pipes and sockets included
