"""The tables of a trace and their invariants.

Times are int64 nanoseconds since `Trace.origin_unix_ns`, on one clock for all ranks. A table is a
numpy structured array whose rows are sorted by `t0`; an interval that was open when its process
ended is closed at the end of the process and carries `RowFlag.OPEN`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum, IntFlag
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.schema.enums import EndKind
from perfscope.schema.other_tools import ToolReport
from perfscope.structures import dataclass
from perfscope.trace import samples, stack_spans
from perfscope.trace import thinning as parts
from perfscope.trace.counters import CounterKind
from perfscope.trace.damage import Damage
from perfscope.trace.devices import GPU_PROCESS_DTYPE, GPU_SAMPLE_DTYPE, DeviceActivity, Gpu
from perfscope.trace.exported import Judged
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.metadata import noted_framework, noted_frameworks
from perfscope.trace.queues import QUEUE_DTYPE
from perfscope.trace.tensors import READINESS_DTYPE, TensorTimeline

Table = npt.NDArray[np.void]
Function = tuple[str, str]
"""A function of the program: its name and its file."""


class RowFlag(IntFlag):
    """What is unusual about a row."""

    NONE = 0
    OPEN = 1  # the process ended inside it; t1 is the end of the process
    COALESCED = 2  # stands for `request` calls between t0 and t1
    SAMPLED = 4  # found by the stack sampler, its ends are not exact
    HANDED = 8  # made by a thread for which the main one waits, whose row it is


class Format(Enum):
    """Which tool's files a trace was read from; first those that know most of a run."""

    PERFSCOPE = "perfscope"
    OTF2 = "otf2"
    PARAVER = "paraver"
    TABLES = "perfscope tables"
    KINETO = "kineto"
    NSYS = "nsys"
    ROCPROF = "rocprof"
    XPLANE = "xplane"
    PERFETTO = "perfetto"
    HOROVOD_TIMELINE = "horovod timeline"
    MPROF = "mprof"
    MEMRAY = "memray"
    PYSPY = "py-spy"
    CUBE = "cube"
    TALP = "talp"
    FLIGHT = "flight recorder"
    INSPECTOR = "nccl inspector"
    LOG = "log of a job"

    @property
    def is_report(self) -> bool:
        """Whether its files have no times of the run: they are told beside any recording."""
        return self in REPORTS

    @property
    def is_of_one_process(self) -> bool:
        """Whether its files are each of one process and do not say which rank that was."""
        return self in OF_ONE_PROCESS

    @property
    def is_profile(self) -> bool:
        """Whether a profiler watched a part of a run, its devices above all."""
        return self in (Format.KINETO, Format.NSYS, Format.ROCPROF, Format.XPLANE)


OF_ONE_PROCESS = {Format.MPROF, Format.MEMRAY}
REPORTS = {
    Format.PYSPY,
    Format.CUBE,
    Format.TALP,
    Format.FLIGHT,
    Format.INSPECTOR,
    Format.LOG,
}

# peer: >= 0 is a world rank
PEER_NONE, PEER_UNKNOWN, PEER_PROC_NULL = -1, -2, -3

OPERATION_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("op", "u2"),  # OperationCode
        ("flags", "u2"),  # RowFlag
        ("tid", "u4"),
        ("comm", "i4"),  # index in Trace.communicators, -1 none
        # ordinal of a collective on its communicator; of a combined send and receive the world
        # rank that it received from, or PEER_* (peer is that of the send); -1 none
        ("seq", "i8"),
        ("peer", "i4"),  # world rank of the peer or root, or PEER_*
        ("tag", "i4"),
        ("sent", "i8"),  # bytes
        ("received", "i8"),  # bytes
        # request id, or number of requests or calls; of a combined send and receive the tag of
        # what it received + 1, 0 unknown
        ("request", "i8"),
    ]
)
# t0 = t1 = when it completed, request = the request, op = what created it
COMPLETION_DTYPE = OPERATION_DTYPE
PHASE_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("kind", "u2"),  # PhaseKind
        ("flags", "u2"),  # RowFlag
        ("tid", "u4"),
        ("name", "i4"),  # index in Trace.names
        ("step", "i8"),  # -1 unknown
        ("epoch", "i4"),  # -1 unknown
    ]
)
STEP_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("number", "i8"),
        ("epoch", "i4"),
        ("samples", "i8"),  # processed by this rank, 0 unknown
        ("global_batch", "i8"),  # 0 unknown
    ]
)
STACK_DTYPE = np.dtype(
    [("t", "i8"), ("tid", "u4"), ("stack", "i4")]
)  # stack: index in Trace.stacks
METRIC_DTYPE = np.dtype(
    [("t", "i8"), ("name", "i4"), ("step", "i8"), ("epoch", "i4"), ("value", "f8")]
)
# a counter of a foreign trace (PAPI, a plugin's metric), as written; name in Trace.names
COUNTER_DTYPE = np.dtype([("t", "i8"), ("tid", "u4"), ("name", "i4"), ("value", "f8")])
PROFILE_DTYPE = np.dtype(
    [
        ("name", "i4"),  # index in Trace.names
        ("tid", "u4"),  # location
        ("count", "i8"),
        ("inclusive_ns", "i8"),  # a recursive call counts once
        ("exclusive_ns", "i8"),
    ]
)


@cache
def empty(dtype: np.dtype[Any]) -> Table:
    """A table without rows, one for all that have none."""
    return np.empty(0, dtype=dtype)


def open_rows(flags: npt.NDArray[np.uint16]) -> npt.NDArray[np.intp]:
    """Places of the rows inside of which the process ended: few, in tables that may be long."""
    return np.flatnonzero(flags & np.uint16(RowFlag.OPEN))


@dataclass(frozen=True)
class Frame:
    """One level of a sampled stack."""

    function: str
    file: str
    line: int  # the line being executed, 0 unknown

    @property
    def key(self) -> Function:
        """The function that it is in."""
        return self.function, self.file


@dataclass(frozen=True)
class Communicator:
    """A group of ranks that communicates; its identity is the same on all of them."""

    identity: int
    members: tuple[int, ...]  # world ranks in rank order
    parent: int  # index in Trace.communicators, -1 for the world

    @property
    def size(self) -> int:
        """Number of ranks in it."""
        return len(self.members)


@dataclass(frozen=True)
class Raised:
    """The uncaught Python exception that ended a program, and the user's line that raised it."""

    type: str
    message: str
    file: str
    line: int  # 0 unknown


@dataclass(frozen=True)
class Ending:
    """How a rank ended, with the exit code or signal where known and how it is known."""

    kind: EndKind
    code: int | None = None  # exit code, abort code or signal number
    source: str = ""
    raised: Raised | None = None
    is_after_work: bool = False  # of a job that had done its work, whatever took or told its end

    @property
    def is_natural(self) -> bool:
        """Whether the rank ended by itself, without a sign of failure, or as the user asked."""
        if self.kind is EndKind.STOPPED or self.is_after_work:
            return True
        exited_well = self.kind is EndKind.EXITED and not self.code
        return self.raised is None and (self.kind is EndKind.FINALIZED or exited_well)


@dataclass(frozen=True)
class ThreadInfo:
    """One thread of a rank over its life."""

    tid: int
    name: str
    cpu_ns: int
    queue_delay_ns: int
    samples: int
    runnable_samples: int


@dataclass
class Rank:
    """One rank of the job and everything recorded of it."""

    number: int
    host: str
    pid: int
    start_ns: int  # process start, or first sign of life
    end_ns: int  # process end, or last sign of life
    main_tid: int
    ending: Ending
    silent_ns: int = 0  # from its last sign of life until its parent saw it end, if that was long
    init_enter_ns: int | None = None  # when it began to, where no operation tells it
    init_exit_ns: int | None = None  # when communication was initialized
    finalize_enter_ns: int | None = None
    program_end_ns: int | None = None  # when Python had run its exit handlers, where it told
    cpus_allowed: str = ""  # CPU list text
    cpu_count_allowed: int = 0  # size of the affinity mask, 0 unknown
    cgroup_cpus: float | None = None  # CPU quota of the cgroup, None without a limit
    cgroup_memory_bytes: int | None = None
    clock_domain: int = 0  # ranks of one domain read one clock; 0 is that of the trace
    clock_offset_ns: int = 0  # at the start of the rank; already applied
    clock_drift_ppm: float = 0.0  # how much faster the trace's clock runs; already applied
    clock_error_ns: int = 0  # bound on what is left; below 0 see perfscope.trace.clocks
    mpi_library: str = ""
    detail_end_ns: int | None = None  # records after this were dropped; None: nothing was dropped
    dropped_records: int = 0
    sampler_cpu_ns: int = 0  # of all that looks at the process while it runs
    operations: Table = field(default_factory=lambda: empty(OPERATION_DTYPE))
    background: Table = field(default_factory=lambda: empty(OPERATION_DTYPE))  # Horovod's thread
    readiness: Table = field(default_factory=lambda: empty(READINESS_DTYPE))  # of its tensors
    queues: Table = field(default_factory=lambda: empty(QUEUE_DTYPE))
    """Batches put into input queues and taken out of them."""
    completions: Table = field(default_factory=lambda: empty(COMPLETION_DTYPE))
    phases: Table = field(default_factory=lambda: empty(PHASE_DTYPE))
    steps: Table = field(default_factory=lambda: empty(STEP_DTYPE))
    stacks: Table = field(default_factory=lambda: empty(STACK_DTYPE))
    thinning: parts.RankThinning | None = None  # where the recorder tells
    windows: Table = field(default_factory=lambda: empty(parts.WINDOW_DTYPE))
    step_blocks: Table = field(default_factory=lambda: empty(parts.BLOCK_DTYPE))
    call_totals: Table = field(default_factory=lambda: empty(parts.CALL_TOTAL_DTYPE))
    metrics: Table = field(default_factory=lambda: empty(METRIC_DTYPE))
    process_samples: Table = field(default_factory=lambda: empty(samples.PROCESS_SAMPLE_DTYPE))
    system_samples: Table = field(default_factory=lambda: empty(samples.SYSTEM_SAMPLE_DTYPE))
    main_samples: Table = field(default_factory=lambda: empty(samples.MAIN_SAMPLE_DTYPE))
    clock_samples: Table = field(default_factory=lambda: empty(samples.CLOCK_SAMPLE_DTYPE))
    cpu_samples: Table = field(default_factory=lambda: empty(samples.CPU_SAMPLE_DTYPE))
    heap_samples: Table = field(default_factory=lambda: empty(samples.HEAP_SAMPLE_DTYPE))
    node_samples: Table = field(default_factory=lambda: empty(samples.NODE_SAMPLE_DTYPE))
    tree_samples: Table = field(default_factory=lambda: empty(samples.TREE_SAMPLE_DTYPE))
    call_samples: Table = field(default_factory=lambda: empty(samples.CALL_SAMPLE_DTYPE))
    """What calls of a framework's functions kept; the counts of a name never fall."""
    python_samples: Table = field(default_factory=lambda: empty(samples.PYTHON_SAMPLE_DTYPE))
    worker_samples: Table = field(default_factory=lambda: empty(samples.WORKER_SAMPLE_DTYPE))
    worker_stacks: Table = field(default_factory=lambda: empty(samples.WORKER_STACK_DTYPE))
    """What processes that work for the rank were seen in."""
    garbage_collections: Table = field(
        default_factory=lambda: empty(samples.GARBAGE_COLLECTION_DTYPE)
    )
    loop_turns: Table = field(default_factory=lambda: empty(samples.LOOP_TURN_DTYPE))
    gpu_samples: Table = field(default_factory=lambda: empty(GPU_SAMPLE_DTYPE))
    """Of the GPUs that this process sampled, which need not be those that it used."""
    gpu_processes: Table = field(default_factory=lambda: empty(GPU_PROCESS_DTYPE))
    """Processes, of any rank, that the driver showed on these GPUs."""
    gpu_reason: str = ""  # why the process sampled no GPU, where it says so
    has_gpu_driver: bool = False  # where it sampled none: whether it saw a driver
    counters: Table = field(default_factory=lambda: empty(COUNTER_DTYPE))
    profile: Table = field(default_factory=lambda: empty(PROFILE_DTYPE))
    """Calls and time by region, where the trace holds more regions than phases."""
    spans: Table = field(default_factory=lambda: empty(stack_spans.SPAN_DTYPE))
    """Stacks of the rank and its workers, where `--stacks` was given."""
    memory_windows: Table = field(default_factory=lambda: empty(stack_spans.MEMORY_WINDOW_DTYPE))
    """When the windows of `Trace.memory_recordings` were."""
    devices: DeviceActivity | None = None
    """What the rank's accelerators did; None where no device was watched."""
    compute: ComputeTotals | None = None
    """Sums of states and hardware counters of the main thread, where the trace has states."""
    team: Sequence[ComputeTotals | None] = ()  # of its threads if several, main first; None unknown
    threads: Sequence[ThreadInfo] = ()
    totals: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)
    """By operation code, of the whole life, never dropped: (calls, ns, bytes sent, received)."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the agent noted: argv, environment, versions, topology, frameworks, exception, ..."""
    workers: Sequence[Mapping[str, Any]] = ()
    """Processes that belong to this rank (loader workers, subprocesses): pid, argv."""

    @property
    def main_stacks(self) -> Table:
        """Stack samples of the program's own thread."""
        rows: Table = self.stacks[self.stacks["tid"] == self.main_tid]
        return rows

    @property
    def frameworks(self) -> Mapping[str, Mapping[str, Any]]:
        """What the agent noted of each framework that the rank uses, by its name."""
        return noted_frameworks(self.metadata)

    def framework(self, name: str) -> Mapping[str, Any]:
        """What the agent noted of one framework; empty where the rank does not use it."""
        return noted_framework(self.metadata, name)


@dataclass
class Trace:
    """A recorded run: its ranks, and the tables that they share."""

    world_size: int  # ranks that the job had; len(ranks) may be smaller
    ranks: list[Rank]
    wall_ns: int  # from the start of the launcher (or the first rank) to its end
    command: tuple[str, ...] = ()
    origin_unix_ns: int = 0  # wall-clock time of t = 0
    origin_mono_ns: int | None = None  # the same by the clock of domain 0, where that is known
    clock: tuple[str, int] = ("", 0)  # that clock: the boot and the time namespace that it is of
    launcher: str = ""  # "mpirun (MPICH)", "python", ...; "" unknown
    exit_code: int | None = None  # of the command; None unknown (perfscope was killed)
    names: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    stacks: list[tuple[int, ...]] = field(default_factory=list)  # of frames, outermost first
    communicators: list[Communicator] = field(default_factory=list)  # [0] is the world
    gpus: list[Gpu] = field(default_factory=list)  # that were sampled, each once, by host
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Of the run: hosts, versions, launcher, redacted variables, topology per host."""
    notes: list[str] = field(default_factory=list)
    programs: Sequence[tuple[int, ...]] = ()
    """Numbers of the ranks of each program, where several that know nothing of each other ran."""
    choices: list[str] = field(default_factory=list)  # of the notes, what is said at once
    """What the reader could not read or had to assume, one sentence each; shown under quality."""
    damage: list[Damage] = field(default_factory=list)
    """What the reader found so wrong with the files that figures may be wrong or are missing."""
    source: str = ""
    format: Format = Format.PERFSCOPE
    not_recorded: Mapping[str, str] = field(default_factory=dict)
    """Why this format has none of memory, threads, io, steps, ..., by part."""
    counter_kinds: Mapping[str, CounterKind] = field(default_factory=dict)  # by name, where told
    tensors: TensorTimeline | None = None
    """What Horovod's coordinator saw of every tensor; None where its timeline was not read."""
    other_processes: Sequence[Mapping[str, Any]] = ()
    elsewhere_ns: int = 0  # of the run: only ranks of groups that are not analyzed lived
    stack_sampling: stack_spans.StackSampling | None = None
    """What `Rank.spans` refer to; None where `--stacks` was not given."""
    memory_recordings: Sequence[stack_spans.MemoryRecording] = ()
    """What `--memory-detail` recorded, by rank."""
    tool_reports: list[ToolReport] = field(default_factory=list)
    """What files of other tools say in figures of their own."""
    kept: parts.Kept | None = None  # the pieces of the run that this was put together from
    whole: "Trace | None" = None  # then: the run with its own times, and with holes
    judged_from_ns: int | None = None  # the focus of analysis begins here, for `judged_reason`
    judged_reason: str = ""
    judged: Judged | None = None  # of an export of perfscope: as the recording was

    @property
    def has_stacks(self) -> bool:
        """Whether stacks were sampled on any rank."""
        return any(len(rank.stacks) for rank in self.ranks)

    @property
    def missing_ranks(self) -> list[int]:
        """Ranks of the job that left no recording."""
        present = {rank.number for rank in self.ranks}
        return [number for number in range(self.world_size) if number not in present]
