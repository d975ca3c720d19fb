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
    """Work of the critical path in one phase.

    Attributes:
        phase: empty outside any, null in calls that are not replayed, like polling.
    """

    phase: str | None
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
    """The replayed run as one chain of work and transfer.

    Attributes:
        seconds: the replayed run, `work_s` + `transfer_s`.
        by_rank: at most 64 of `ranks`.
        by_phase: of all the work.
        by_line: where samples tell it, at most 20.
    """

    seconds: float
    work_s: float
    transfer_s: float
    by_rank: tuple[PathOfRank, ...]
    ranks: int
    by_phase: tuple[PathOfPhase, ...]
    by_operation: tuple[PathOfOperation, ...]
    by_line: tuple[PathOfLine, ...]


@dataclass(frozen=True)
class DelayCosts:
    """All waiting, charged to what caused it.

    Attributes:
        waiting_s: of all ranks, `direct_s` + `indirect_s` + `unattributed_s`.
        causes: at most 50.
    """

    waiting_s: float
    direct_s: float
    indirect_s: float
    unattributed_s: float
    causes: tuple[DelayCause, ...]
    causes_left_out: int


@dataclass(frozen=True)
class WaitPair:
    """Seconds that one rank waited for another.

    Attributes:
        waiter, cause: ranks.
    """

    waiter: int
    cause: int
    seconds: float


@dataclass(frozen=True)
class Waits:
    """Who waited for whom.

    Attributes:
        pairs: at most 100.
        left_out_s: of the other pairs.
        blocks_s: the same for blocks of `ranks_per_block` ranks, at most 16 x 16, waiters down and
            causes across.
    """

    pairs: tuple[WaitPair, ...]
    pairs_left_out: int
    left_out_s: float
    ranks_per_block: int
    blocks_s: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ReplayedSteps:
    """Critical path and delay costs of successive steps.

    Attributes:
        first, count: number of the first step, and how many.
        work_s, transfer_s: on the critical path.
        waiting_s: of all ranks, `direct_s` + `indirect_s` + `unattributed_s`.
        cause: the most costly delay, or null.
    """

    first: int
    count: int
    work_s: float
    transfer_s: float
    waiting_s: float
    direct_s: float
    indirect_s: float
    unattributed_s: float
    cause: DelayCause | None


@dataclass(frozen=True)
class ReplayResult:
    """Whether gains are predictions, and how good they are.

    Attributes:
        available, reason: whether the run could be replayed, and why not.
        relative_error: difference of the unchanged replay from the measured run, relative to it.
        ideal_runtime_s: T_id, the focus of analysis on a network that takes no time.
        edits_assumptions: sentences: what every predicted gain assumes.
        critical_path, delay_costs, waits: null when not available.
        by_step: null when not available, empty where neither a marker nor a framework tells steps
            or the ranks meet more rarely than once in each; at most 200 rows, which add up to the
            run.
    """

    available: bool
    reason: str
    relative_error: float | None
    ideal_runtime_s: float | None
    edits_assumptions: tuple[str, ...]
    critical_path: CriticalPath | None
    delay_costs: DelayCosts | None
    waits: Waits | None
    by_step: tuple[ReplayedSteps, ...] | None
