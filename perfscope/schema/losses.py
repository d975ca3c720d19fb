"""The loss account: what the time of the ranks was lost to."""

from perfscope.schema.common import Place
from perfscope.schema.enums import Account, Activity, Basis, LossKind, LossPattern
from perfscope.structures import dataclass

NOT_USEFUL = "something other than useful computation"
"""What lost time is called in sentences: evaluations and first imports are among it, too."""

HELD_UP = (
    LossKind.THROTTLED,
    LossKind.OTHER_PROCESSES,
    LossKind.CPU_WAIT,
    LossKind.SLOWED_GPU,
    LossKind.INTERPRETER_LOCK,
    LossKind.PAGE_FAULTS,
)
OF_FUNCTIONS = (LossKind.REPEATED_WORK, LossKind.SLOW_OPERANDS)
"""What is a part of the work of a function."""

SLOWED = (*HELD_UP, *OF_FUNCTIONS)
"""What makes training work longer than it need be: only sums are known, and not each moment."""


def spread(pattern: LossPattern, ranks: int) -> str:
    """How a loss is spread, in words; a single process is spoken of without its ranks."""
    return pattern.label.split(",")[0] if ranks == 1 else pattern.label


@dataclass(frozen=True)
class LossSaving:
    """Seconds that the run would be shorter by without a cause.

    `reason` is why they are null, or have no interval where others used CPUs of the job.
    """

    seconds: float | None
    interval_s: tuple[float, float] | None
    basis: Basis | None
    reason: str | None


@dataclass(frozen=True)
class LossEntry:
    """What one cause took from the ranks: the time spent on it, and that of others who waited.

    `label` names it; `account`, `activity`, `phase` and `operation` say what it was as far as that
    is known. `share` is of the ranks' time in the focus, null of what lies outside. `steps` are the
    first and last one in which it costs time. `causes` is above 1 where small ones are told
    together. `findings` are those that explain it.
    """

    label: str
    # `waiting` is for training work of others, `communication` not told apart, `other_work` no
    # training, `outside` before and after the focus; `throttled` (a CPU limit),
    # `other_processes` (not the job's), `cpu_wait`, `slowed_gpu`, `interpreter_lock`, `page_faults`
    # held training work up, `repeated_work` and `slow_operands` is what of it is more than needed
    kind: LossKind
    account: Account | None
    activity: Activity | None
    phase: str
    operation: str
    ns: int  # rank-nanoseconds lost to it
    own_ns: int  # of these, spent on it
    # of these, spent by others who waited for it, directly and through a third
    waiting_ns: int
    share: float | None
    ranks: tuple[int, ...]  # who did it, those that cost most first
    ranks_left_out: int  # how many more there are
    where: Place | None  # the function in which it was most, null unknown
    # `even` is all ranks alike in every step, `serial` one rank after another inside each step,
    # `varying` a different rank each step, `alternating` each
    # rank in steps of its own that come back, `chained` work whose result others need, `window` one
    # part of the run, `shifting` work that others did before, `system` while those who are late
    # have no CPU; null where there are too few steps to tell
    pattern: LossPattern | None
    # whether halves of the steps, drawn at random, tell the same pattern; null where that is not
    # asked
    is_certain: bool | None
    steps: tuple[int, int] | None
    causes: int
    saving: LossSaving
    findings: tuple[str, ...]  # ids of those whose change takes at least half of it away
    # seconds of all ranks in the whole run, where some of its steps were left out; else null, and
    # `ns` is of all of it
    run_s: float | None = None
    # of 95 %, by chance of which steps were kept; null where steps do not tell
    run_interval_s: tuple[float, float] | None = None
    # seconds in the whole run, mean of all ranks: of what is spent on it, or else of waiting for it
    mean_s: float | None = None


@dataclass(frozen=True)
class Losses:
    """The time of all ranks, in nanoseconds: training work, and the entries of what was lost.

    `life_ns` is training work and lost time; the entries add up to what was lost. `lost_share` is
    what is lost to a known cause, and `unknown_share` that of which nothing is known, both of the
    ranks' time in the focus of analysis.
    """

    life_ns: int
    window_ns: int  # time of all ranks in the focus of analysis
    training_ns: int
    lost_ns: int  # `life_ns` less `training_ns`; the entries add up to it exactly
    lost_share: float | None
    unknown_share: float | None
    entries: tuple[LossEntry, ...]
