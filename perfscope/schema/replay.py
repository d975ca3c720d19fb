"""What replaying the run tells."""

from perfscope.schema.common import DelayCause
from perfscope.structures import dataclass


@dataclass(frozen=True)
class PathOfRank:
    """The part of the critical path on one rank."""

    rank: int
    work_s: float
    transfer_s: float


@dataclass(frozen=True)
class PathOfPhase:
    """Work of the critical path in one phase."""

    phase: str | None  # empty outside any, null in calls that are not replayed, like polling
    seconds: float


@dataclass(frozen=True)
class PathOfOperation:
    """Transfer of the critical path in one operation."""

    name: str
    seconds: float


@dataclass(frozen=True)
class PathOfLine:
    """Work of the critical path in one line."""

    file: str
    line: int
    function: str
    seconds: float


@dataclass(frozen=True)
class CriticalPath:
    """The replayed run as one chain of work and transfer."""

    seconds: float  # the replayed run, `work_s` + `transfer_s`
    work_s: float
    transfer_s: float
    by_rank: tuple[PathOfRank, ...]  # at most 64 of `ranks`
    ranks: int
    by_phase: tuple[PathOfPhase, ...]  # of all the work
    by_operation: tuple[PathOfOperation, ...]
    by_line: tuple[PathOfLine, ...]  # where samples tell it, at most 20


@dataclass(frozen=True)
class DelayCosts:
    """All waiting, charged to what caused it."""

    waiting_s: float  # of all ranks, `direct_s` + `indirect_s` + `unattributed_s`
    direct_s: float
    indirect_s: float
    unattributed_s: float
    causes: tuple[DelayCause, ...]  # at most 50
    causes_left_out: int


@dataclass(frozen=True)
class WaitPair:
    """Seconds that one rank waited for another."""

    waiter: int  # ranks
    cause: int  # ranks
    seconds: float


@dataclass(frozen=True)
class Waits:
    """Who waited for whom."""

    pairs: tuple[WaitPair, ...]  # at most 100
    pairs_left_out: int
    left_out_s: float  # of the other pairs
    ranks_per_block: int
    # the same for blocks of `ranks_per_block` ranks, at most 16 x 16, waiters down and causes
    # across
    blocks_s: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ReplayedSteps:
    """Critical path and delay costs of successive steps."""

    first: int  # number of the first step
    count: int  # how many
    work_s: float  # on the critical path
    transfer_s: float  # on the critical path
    waiting_s: float  # of all ranks, `direct_s` + `indirect_s` + `unattributed_s`
    direct_s: float
    indirect_s: float
    unattributed_s: float
    cause: DelayCause | None  # the most costly delay, or null


@dataclass(frozen=True)
class ReplayResult:
    """Whether gains are predictions, and how good they are."""

    available: bool  # whether the run could be replayed
    reason: str  # why not
    # difference of the unchanged replay from the measured run, relative to it
    relative_error: float | None
    ideal_runtime_s: float | None  # T_id, the focus of analysis on a network that takes no time
    edits_assumptions: tuple[str, ...]  # sentences: what every predicted gain assumes
    critical_path: CriticalPath | None  # null when not available
    delay_costs: DelayCosts | None  # null when not available
    waits: Waits | None  # null when not available
    # null when not available, empty where neither a marker nor a framework tells steps or the ranks
    # meet more rarely than once in each; at most 200 rows, which add up to the run
    by_step: tuple[ReplayedSteps, ...] | None
