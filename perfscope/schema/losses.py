"""The loss account: what the time of the ranks was lost to."""

from perfscope.schema.common import Place
from perfscope.schema.enums import Account, Activity, Basis, LossKind, LossPattern
from perfscope.structures import dataclass


@dataclass(frozen=True)
class LossSaving:
    """Seconds that the run would be shorter by without a cause; null with a reason."""

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

    Attributes:
        kind: `waiting` is for training work of others, `communication` not told apart, `other_work`
            no training, `outside` before and after the focus; `throttled` (a CPU limit),
            `cpu_wait`, `slowed_gpu`, `interpreter_lock`, `page_faults` held training work up.
        ns, own_ns, waiting_ns: rank-nanoseconds lost to it: spent on it, and spent by others who
            waited for it, directly and through a third.
        ranks, ranks_left_out: who did it, those that cost most first, and how many more there are.
        where: the function in which it was most, null unknown.
        pattern: `serial` is by turns inside each step, `varying` another rank each step,
            `alternating` each rank in steps of its own that come back, `chained` work whose result
            others need, `window` one part of the run, `system` while those who are late have no
            CPU; null where there are too few steps to tell.
        is_certain: whether halves of the steps, drawn at random, tell the same pattern; null where
            that is not asked.
        findings: ids of those whose change takes at least half of it away.
        run_s: seconds of all ranks in the whole run, where some of its steps were left out; else
            null, and `ns` is of all of it.
        run_interval_s: of 95 %, by chance of which steps were kept; null where steps do not tell.
    """

    label: str
    kind: LossKind
    account: Account | None
    activity: Activity | None
    phase: str
    operation: str
    ns: int
    own_ns: int
    waiting_ns: int
    share: float | None
    ranks: tuple[int, ...]
    ranks_left_out: int
    where: Place | None
    pattern: LossPattern | None
    is_certain: bool | None
    steps: tuple[int, int] | None
    causes: int
    saving: LossSaving
    findings: tuple[str, ...]
    run_s: float | None = None
    run_interval_s: tuple[float, float] | None = None


@dataclass(frozen=True)
class Losses:
    """The time of all ranks, in nanoseconds: training work, and the entries of what was lost.

    `life_ns` is training work and lost time; the entries add up to what was lost. `lost_share` is
    what is lost to a known cause, and `unknown_share` that of which nothing is known, both of the
    ranks' time in the focus of analysis.

    Attributes:
        lost_ns: `life_ns` less `training_ns`; the entries add up to it exactly.
        window_ns: time of all ranks in the focus of analysis.
    """

    life_ns: int
    window_ns: int
    training_ns: int
    lost_ns: int
    lost_share: float | None
    unknown_share: float | None
    entries: tuple[LossEntry, ...]
