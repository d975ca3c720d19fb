"""What replaying the run tells."""

from dataclasses import dataclass

from perfscope.schema.common import DelayCause


@dataclass(frozen=True)
class PathOfRank:
    """The part of the critical path on one rank."""

    rank: int
    work_s: float
    transfer_s: float


@dataclass(frozen=True)
class PathOfPhase:
    """Work of the critical path in one phase."""

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
    """The replayed run as one chain of work and transfer."""

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
    """All waiting, charged to what caused it."""

    waiting_s: float
    direct_s: float
    indirect_s: float
    unattributed_s: float
    causes: tuple[DelayCause, ...]
    causes_left_out: int


@dataclass(frozen=True)
class WaitPair:
    """Seconds that one rank waited for another."""

    waiter: int
    cause: int
    seconds: float


@dataclass(frozen=True)
class Waits:
    """Who waited for whom."""

    pairs: tuple[WaitPair, ...]
    pairs_left_out: int
    left_out_s: float
    ranks_per_block: int
    blocks_s: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ReplayedSteps:
    """Critical path and delay costs of successive steps."""

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
    """Whether gains are predictions, and how good they are."""

    available: bool
    reason: str
    relative_error: float | None
    ideal_runtime_s: float | None
    edits_assumptions: tuple[str, ...]
    critical_path: CriticalPath | None
    delay_costs: DelayCosts | None
    waits: Waits | None
    by_step: tuple[ReplayedSteps, ...] | None
