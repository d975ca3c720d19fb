"""Memory, stacks, threads and files."""

from typing import Any

from perfscope.schema.common import Place, Series
from perfscope.structures import dataclass


@dataclass(frozen=True)
class MemoryOfRank:
    """Resident memory of one rank over time.

    Attributes:
        rank: number of the rank.
        host: where it ran.
        peak_bytes: the largest.
        start_bytes: median of the first tenth of the focus of analysis.
        end_bytes: median of the last tenth.
        slope_bytes_per_s: Theil-Sen over the last half of the focus.
        limit_bytes: of its control group, which ranks of a node mostly share.
        peak_phase: the phase in which it was largest, empty outside any.
        tree_bytes: proportional memory (PSS: a page that n processes share counts 1/n) of the rank
            and its `descendants` at the peak, null where it was not read.
        descendants: processes that it started, and theirs.
        series: over time.
    """

    rank: int
    host: str
    peak_bytes: int
    start_bytes: int
    end_bytes: int
    slope_bytes_per_s: float | None
    limit_bytes: int | None
    peak_phase: str
    tree_bytes: int | None
    descendants: int
    series: Series


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

    Attributes:
        count: allocations.
        allocator: the place inside a library, or null.
    """

    function: str
    file: str
    line: int
    kept_bytes: int
    count: int
    allocator: Place | None


@dataclass(frozen=True)
class MemoryLinesOfRank:
    """Memory by line of one rank over the longest window that was watched behind its warm-up.

    `is_whole_life`: the only window was closed by the end of the program.

    Attributes:
        reason: why there are no lines or no more of them, or null.
        kept_bytes: allocated in the window and not freed; of a growth what the process grew by.
        lines: at most 10, most first.
        is_growth: bytes are what the process grew by while a line ran, and not what it allocated.
    """

    rank: int
    engine: str
    reason: str | None
    window_s: tuple[float, float]
    is_whole_life: bool
    kept_bytes: int
    lines: tuple[MemoryLine, ...]
    is_growth: bool = False


@dataclass(frozen=True)
class MemoryLines:
    """Memory by line, or why no rank was watched.

    Attributes:
        reason: why no rank was watched by line (`--memory-detail`), else null.
    """

    reason: str | None
    ranks: tuple[MemoryLinesOfRank, ...]


@dataclass(frozen=True)
class Memory:
    """Memory of ranks and hosts, or why it is not known.

    Attributes:
        reason: why the format of a trace does not hold it, else null.
    """

    reason: str | None
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

    Attributes:
        line: seen most.
        seconds: with what it called.
    """

    parent: int
    function: str
    file: str
    line: int
    is_user: bool
    seconds: float
    self_s: float
    seconds_by_rank: tuple[float, ...]


@dataclass(frozen=True)
class TopFunction:
    """A function with most time of its own, and that with what it called, wherever that was.

    Attributes:
        total_s: recursive calls count once.
    """

    function: str
    file: str
    line: int
    is_user: bool
    self_s: float
    total_s: float


@dataclass(frozen=True)
class StacksOfPhase:
    """The call tree of one phase, or of what stands outside any.

    `seconds` are those of the phase, all ranks together, `sampled_s` those of it with a known
    stack, and `left_out_s` were spent in nodes too small to be shown.

    Attributes:
        id: of `phases`, or `start_up`, `shutdown`, `communication` and `outside` (no phase),
            `others` (workers and other threads).
        ranks: the 8 with most time.
        nodes_left_out: functions below 0.5 % of the phase, deeper than 48 levels, or behind the
            first 240.
        top: at most 10.
    """

    id: str
    label: str
    seconds: float
    sampled_s: float
    ranks: tuple[int, ...]
    nodes: tuple[StackNode, ...]
    nodes_left_out: int
    left_out_s: float
    top: tuple[TopFunction, ...]


@dataclass(frozen=True)
class Stacks:
    """Where time went by call stack; in `waiting_s` workers and other threads only waited.

    Attributes:
        reason: why there are none, else null.
        hz: samples asked for.
        ranks: with stacks.
        paused_s: between the segments of a long run, of the rank with most.
        phases: at most 16, most sampled seconds first.
    """

    reason: str | None
    hz: float
    ranks: tuple[int, ...]
    missing: tuple[MissingStacks, ...]
    paused_s: float
    waiting_s: float
    phases: tuple[StacksOfPhase, ...]
    phases_left_out: int


@dataclass(frozen=True)
class NoStacks:
    """Why there are no stacks.

    Attributes:
        phases, missing: empty.
    """

    reason: str
    phases: tuple[Any, ...]
    missing: tuple[Any, ...]


@dataclass(frozen=True)
class ThreadGroup:
    """Threads of a process that share a name, over its whole life."""

    stem: str
    count: int
    cpu_s: float
    runnable_mean: float


@dataclass(frozen=True)
class ThreadsOfRank:
    """Threads and CPU time of one rank inside the focus of analysis.

    Attributes:
        rank: number of the rank.
        host: where it ran.
        pool_threads: of the largest pool of a library, null where none is known.
        threads_max: most threads at a time.
        runnable_mean: threads that run or want to.
        runnable_p95: the same, exceeded in 5 % of the samples.
        cpu_s: CPU seconds of all of its threads.
        cpu_utilization: CPU seconds over the focus times the CPUs available to the rank.
        queue_delay_s: time that runnable threads waited for a CPU, summed over threads.
        involuntary_switches: how often a thread was taken off its CPU.
        voluntary_switches: how often one gave it up.
        cpus_allowed: affinity mask.
        cpus_available: affinity mask and quota of the control group, whichever is smaller.
        groups: threads by name.
        threads_series: threads over time.
        runnable_series: those that run or want to.
        cpu_series: CPUs busy.
    """

    rank: int
    host: str
    pool_threads: int | None
    threads_max: int
    runnable_mean: float
    runnable_p95: float
    cpu_s: float
    cpu_utilization: float
    queue_delay_s: float
    involuntary_switches: int
    voluntary_switches: int
    cpus_allowed: str
    cpus_available: float
    groups: tuple[ThreadGroup, ...]
    threads_series: Series
    runnable_series: Series
    cpu_series: Series


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
class Threads:
    """Threads of ranks and hosts, or why they are not known.

    Attributes:
        reason: why the format of a trace does not hold them, else null.
    """

    reason: str | None
    ranks: tuple[ThreadsOfRank, ...]
    nodes: tuple[ThreadsOfNode, ...]


@dataclass(frozen=True)
class InputOutput:
    """Bytes that each rank read and wrote, and seconds that it waited for a device.

    Attributes:
        reason: why the format of a trace does not hold it, else null.
        stalled_s_by_rank: seconds of the focus in which a thread of the rank waited for a device,
            none ran, and the rank was not communicating; null: not sampled.
        read_bytes_by_rank, written_bytes_by_rank: pipes and sockets included.
    """

    reason: str | None
    stalled_s_by_rank: tuple[float | None, ...]
    read_bytes_by_rank: tuple[int, ...]
    written_bytes_by_rank: tuple[int, ...]
