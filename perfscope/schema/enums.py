"""The closed sets of analysis.json; the value of a member is its id in the document."""

from enum import Enum, IntEnum
from typing import Any, TypeVar

AnyEnum = TypeVar("AnyEnum", bound=Enum)


def member(kind: type[AnyEnum], identity: object) -> AnyEnum | None:
    """The member of an id; None for what a document of another version or hand holds."""
    return next((one for one in kind if one.value == identity), None)


class Named(Enum):
    """A set whose members have a name and a meaning for people."""

    _value_: str
    label: str
    meaning: str

    def __new__(cls, identity: str, label: str, meaning: str = "") -> Any:
        """A member of this id."""
        made = object.__new__(cls)
        made._value_, made.label, made.meaning = identity, label, meaning
        return made


class Status(Enum):
    """Outcome of a diagnosis, in the order in which findings are shown."""

    FAIL = "fail"  # the fault is there and costs enough to act on
    WARN = "warn"  # the fault is there, small or uncertain
    INFO = "info"
    NOT_MEASURED = "not_measured"  # summary names the flag that would measure it
    NOT_APPLICABLE = "not_applicable"
    PASS = "pass"
    ERROR = "error"  # the diagnosis itself failed; the report still appears

    @property
    def order(self) -> int:
        """Place among findings: 0 comes first."""
        return list(Status).index(self)

    @property
    def is_unmade(self) -> bool:
        """Whether the diagnosis could not be made; one that does not apply was not to be made."""
        return self in {Status.NOT_MEASURED, Status.ERROR}

    @property
    def is_fault(self) -> bool:
        """Whether the fault that was looked for is there."""
        return self in {Status.FAIL, Status.WARN}


class Confidence(Enum):
    """How sure the evidence makes us."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class NoInterval(Enum):
    """Why a saving that was replayed has no interval, of a run with enough parts to tell one."""

    LOAD = "load"  # it would hold for the load of this run's host alone
    UNSEEN = "unseen"  # not all that the cause costs inside libraries is in it
    PARTS = "parts"  # part of it was timed separately, after the run


class Basis(Enum):
    """How the seconds of a gain were found."""

    REPLAY = "replay"  # the run was replayed with the change
    UPPER_BOUND = "upper_bound"  # it cannot be replayed, or no real change reaches it


class FigureSource(Enum):
    """What a figure of a whole run rests on, where only parts of the run were kept in detail."""

    TOTALS = "totals"  # sums that hold all of the run
    KEPT = "kept"  # the parts that were kept, and chance


class WindowUnit(Named):
    """What a recording that came to its bound of space keeps or leaves out as a whole."""

    STEPS = "steps", "steps"
    COLLECTIVES = "collectives", "parts of 32 collectives", "On MPI_COMM_WORLD."
    TIME = "time", "windows of time", "Of a second of the wall clock or less."


class PhaseKind(IntEnum):
    """What a stretch of a rank's time was for; the codes are those of the recording format."""

    TRAIN = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZER = 4
    INPUT = 5
    EVALUATE = 6
    PREDICT = 7
    CHECKPOINT = 8
    IO = 9
    DEVICE_WAIT = 10
    COMMUNICATION = 11
    USER = 12


class EndKind(Enum):
    """How a rank ended."""

    FINALIZED = "finalized"
    EXITED = "exited"  # without MPI_Finalize having returned, or never used MPI; code known
    KILLED = "killed"  # by a signal; signal known
    ABORTED = "aborted"  # called MPI_Abort; code known
    ABORTED_IN_TEARDOWN = (
        "aborted in teardown"  # died after MPI_Finalize or after its work was done
    )
    STOPPED = "stopped on request"  # ended by `perfscope run --stop-after`, or by its own job
    UNKNOWN = "unknown"  # no sign of an end: killed from outside or still running


class Account(Named):
    """An account of the ledger, in the order of the report."""

    TRAINING = (
        "training",
        "Training",
        "Forward, backward, optimizer and the rest of a training step.",
    )
    INPUT_WAIT = "input_wait", "Input wait", "Waiting for the next batch."
    EVALUATION = (
        "evaluation",
        "Evaluation",
        "Evaluation and prediction outside of training steps, without communication.",
    )
    CHECKPOINT = "checkpoint", "Checkpoint", "Saving or loading the model."
    COMMUNICATION_WAIT = (
        "communication_wait",
        "Communication: waiting",
        "In a call before the last rank needed had arrived: time lost to other ranks.",
    )
    COMMUNICATION_TRANSFER = (
        "communication_transfer",
        "Communication: transfer",
        "In such a call after everybody needed had arrived: time that the network takes.",
    )
    COMMUNICATION_OTHER = (
        "communication_other",
        "Communication: other",
        "In such a call where the partners of the call are not known.",
    )
    IO = "io", "Files", "Reading and writing files in phases marked as such."
    DEVICE_WAIT = "device_wait", "Device wait", "The host waits for an accelerator."
    USER_PHASES = "user_phases", "User-defined phases", "Phases with names that the program gave."
    COMPUTATION = (
        "computation",
        "Computation",
        "Work in no phase, whose function stack samples tell.",
    )
    START_UP = (
        "start_up",
        "Start-up",
        "From the start of the process to the beginning of the focus of analysis.",
    )
    SHUTDOWN = (
        "shutdown",
        "Shutdown",
        "From the end of the focus of analysis to the process's end.",
    )
    UNTRACED = (
        "untraced",
        "Untraced",
        "Before recording began, after records were dropped, or in a function not known.",
    )


COMMUNICATION_ACCOUNTS = (
    Account.COMMUNICATION_WAIT,
    Account.COMMUNICATION_TRANSFER,
    Account.COMMUNICATION_OTHER,
)


class Absence(Named):
    """What is there while a rank is not, or gets on no more."""

    DEADLOCK = "deadlock", "Deadlock", "All ranks waited for others until the job was ended."
    ELSEWHERE = (
        "elsewhere",
        "Other groups of ranks",
        "Only ranks lived that are not analyzed: of another attempt or job.",
    )
    OUTSIDE = (
        "outside",
        "Launcher",
        (
            "The run is as long as the command: the launcher starts and ends the ranks, and a "
            "rank may start later or end earlier than others."
        ),
    )
    NOT_IN_TRACE = "not_in_trace", "Not in the trace", "The trace does not hold a rank so long."


class WaitKind(Named):
    """What a rank waited for inside an operation."""

    LATE_SENDER = "late_sender", "Late sender", "the message was not sent yet"
    LATE_RECEIVER = "late_receiver", "Late receiver", "a large message whose receiver was busy"
    BARRIER = "barrier", "Barrier", "the last rank at a barrier"
    N_TO_N = (
        "n_to_n",
        "Wait at N × N",
        "the last rank at an operation that needs all, like an allreduce",
    )
    LATE_BROADCAST = (
        "late_broadcast",
        "Late broadcast",
        "the rank that sends to all others came late",
    )
    EARLY_REDUCE = (
        "early_reduce",
        "Early reduce",
        "the rank that collects from all others came early",
    )
    EARLY_SCAN = "early_scan", "Early scan", "a lower rank came later to a scan"
    FINALIZE = "finalize", "Wait at the end", "the last rank to come to its end"
    POLLING = "polling", "Polling", "asked in vain whether something had come"


class IdleCause(Named):
    """What a device without work waited for, in the order of the report."""

    INPUT = "input", "the host waits for input"
    RANKS = "ranks", "the host waits for other ranks"
    COMMUNICATION = "communication", "the host communicates"
    EVALUATION = "evaluation", "the host evaluates"
    CHECKPOINT = "checkpoint", "a checkpoint is written"
    FILES = "files", "the host reads or writes files"
    SYNCHRONIZATION = "synchronization", "the host had waited for the device"
    LAUNCH = "launch", "launching short kernels"
    HOST = "host", "other work of the host"
    KERNEL = "kernel", "starting what was launched in time"
    DEVICE = "device", "another stream, an event or the device"
    BEFORE_FIRST = "before_first", "before the first work"
    AFTER_LAST = "after_last", "after the last work"
    UNKNOWN = "unknown", "launches missing in the trace"


class Activity(Named):
    """What a thread was doing, as the innermost functions of its stack tell."""

    NUMERIC = "numeric", "Numeric library", "arrays, tensors and what is computed with them"
    COMMUNICATION = "communication", "Communication", "a communication library, outside its calls"
    DEVICE_WAIT = "device_wait", "Waiting for a device", "the host waits for an accelerator"
    DATA_PREPARATION = (
        "data_preparation",
        "Preparing data",
        "input is decoded, parsed, sorted and put together for the work that follows",
    )
    TEXT = "text", "Processing text", "strings, dates and records are searched, parsed and joined"
    UNPACKING = "unpacking", "Decompressing data", "compressed data are decompressed"
    COMPRESSION = "compression", "Compressing data", "data are compressed"
    HASHING = "hashing", "Computing checksums", "checksums and hashes of bytes"
    FILES = "files", "File I/O", "files are opened, read, written and listed"
    NETWORK = "network", "Talking to remote services", "sockets, outside communication libraries"
    LOCK = "lock", "Waiting for threads and locks", "a lock, a queue, an event or another thread"
    SLEEP = "sleep", "Sleeping", "the program asked to wait for a time"
    SUBPROCESS = (
        "subprocess",
        "Starting and awaiting processes",
        "starting another process or waiting for it",
    )
    WORKERS = "workers", "Waiting for worker processes", "processes that live on work for this"
    GARBAGE_COLLECTION = "garbage_collection", "Garbage collection", "Python's cyclic collector"
    MEMORY_MANAGEMENT = (
        "memory_management",
        "Allocating and freeing memory",
        "allocating, copying and giving back memory",
    )
    SERIALIZATION = "serialization", "Serializing objects", "objects become bytes or the reverse"
    COMPILING = "compiling", "Compiling code", "tracing, generating and compiling code"
    IMPORTING = "importing", "Importing modules", "finding and importing modules"
    LOGGING = "logging", "Writing logs and output", "log records, progress bars, printed lines"
    DEBUGGING = "debugging", "Debugging overhead", "tracebacks, debuggers and traces of allocations"
    INTERPRETER = (
        "interpreter",
        "Python code outside numeric libraries",
        "Python code itself and its built-in containers",
    )
    UNKNOWN = "unknown", "Other libraries", "a library of no known kind, or nothing is known"


class LossKind(Named):
    """What the time of a rank was lost to, in the order of the report."""

    WAITING = "waiting", "Waiting for other ranks", "In a call before the last rank had come."
    TRANSFER = "transfer", "Data transfer", "In a call after everybody had come."
    COMMUNICATION = (
        "communication",
        "Communication, waiting or transfer",
        "In calls whose partners are not known, so that waiting and transfer are one.",
    )
    OTHER_WORK = (
        "other_work",
        "Work that is not training",
        "Evaluation, checkpoints, input, files and whatever else is not numeric work.",
    )
    OTHER_PROCESSES = (
        "other_processes",
        "CPU contention from other processes",
        "In training work: ready to run, and a process that is not the job's had the CPU.",
    )
    CPU_WAIT = (
        "cpu_wait",
        "CPU contention within the job",
        "In training work: ready to run, and a thread of the job had the CPU, as far as is known.",
    )
    THROTTLED = (
        "throttled",
        "CPU limit",
        "In training work: ready to run, and the CPU limit of the control group withheld the CPU.",
    )
    SLOWED_GPU = (
        "slowed_gpu",
        "Slowed GPU",
        "In training work: the GPU had a lower clock than usual, for heat or a power brake.",
    )
    INTERPRETER_LOCK = (
        "interpreter_lock",
        "Waiting for the GIL",
        "In training work: another thread of the process ran Python code.",
    )
    PAGE_FAULTS = (
        "page_faults",
        "Page faults",
        "In training work: the kernel got memory ready that was touched for the first time.",
    )
    REPEATED_WORK = "repeated_work", "Repeated work", "From operands that were the same each time."
    SLOW_OPERANDS = "slow_operands", "Slow array values or layout", "What CPUs do slowly, at most."
    UNKNOWN = "unknown", "Not known", "Time that no mark, call or sample accounts for."
    OUTSIDE = (
        "outside",
        "Before and after",
        "Before and after the focus of analysis: start-up and shutdown.",
    )


class LossPattern(Named):
    """How a loss is spread over the steps, and over the ranks that cause it."""

    STATIC = "static", "every step, the same ranks"
    EVEN = "even", "every step, all ranks alike"
    SERIAL = "serial", "within each step, one rank after another"
    VARYING = "varying", "every step, a different rank"
    ALTERNATING = "alternating", "each rank in steps of its own, in turn"
    CHAINED = "chained", "every step, ranks whose result the others need"
    BURSTS = "bursts", "in a few long stretches"
    WINDOW = "window", "in one part of the run"
    SHIFTING = "shifting", "moves between ranks during the run"
    ONCE = "once", "once"
    SYSTEM = "system", "while the late ranks have no CPU"


class AwaitedThing(Named):
    """What a rank waits for that another thread or process has, brings or does."""

    LOCK = "lock", "a lock"
    FILE_LOCK = "file_lock", "a file lock"
    INTERPRETER = "interpreter", "the GIL"
    QUEUE = "queue", "a queue"
    TASK = "task", "the result of a task"
    THREAD = "thread", "the end of a thread"
    EVENT = "event", "an event of another thread"
    EVENT_LOOP = "event_loop", "what coroutines await"
    BUSY_LOOP = "busy_loop", "a time or change that a busy loop looks for"
    PIPE = "pipe", "a pipe or socket"
    UNKNOWN = "unknown", "a thread, a lock or a queue"


class Direction(Enum):
    """Which way a copy between host and device went."""

    TO_DEVICE = "host to device"
    TO_HOST = "device to host"
    UNKNOWN = "unknown"


class Quantity(Enum):
    """What the numbers of a column are that another tool wrote."""

    SECONDS = "s"
    BYTES = "bytes"
    RATIO = "ratio"
    SHARE = "share"
    COUNT = "count"
    NUMBER = "number"
    TEXT = "text"
    CODE = "code"  # a name in a program
