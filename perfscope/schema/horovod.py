"""Horovod's thread, and what its timeline tells of tensors."""

from perfscope.structures import dataclass


@dataclass(frozen=True)
class FusionBytes:
    """Bytes of the allreduces that carried tensors."""

    allreduces: int
    least: int | None
    median: float | None
    most: int | None


@dataclass(frozen=True)
class HorovodLocation:
    """Horovod's thread on one rank: its four times add up to the focus.

    `data_s` is spent in calls that carry tensors, waiting included, `control_s` in agreeing on what
    is ready, `other_s` in other MPI calls, `idle_s` in copying to and from the fusion buffer and in
    sleep; `thread` is its kernel id.
    """

    rank: int
    thread: int
    data_s: float
    control_s: float
    other_s: float
    idle_s: float
    control_cycles: int  # in which the ranks agreed on what is ready
    data_calls: dict[str, int]  # that carry tensors, by operation
    data_bytes: int
    fusion_bytes: FusionBytes


@dataclass(frozen=True)
class HorovodExposed:
    """Communication of Horovod that the ranks waited for, by rank and by step."""

    reason: str | None  # why it is not known, else null
    # over the focus; these are the waits and transfers of `collectives`
    wait_s_by_rank: tuple[float, ...]
    # over the focus; these are the waits and transfers of `collectives`
    transfer_s_by_rank: tuple[float, ...]
    step_wait_s_median_by_rank: tuple[float | None, ...]  # median over the steps of a rank
    step_transfer_s_median_by_rank: tuple[float | None, ...]  # median over the steps of a rank
    steps: tuple[int, ...]  # their numbers
    # a row by rank for each step; null where a rank does not have it
    step_wait_s: tuple[tuple[float | None, ...], ...]
    # a row by rank for each step; null where a rank does not have it
    step_transfer_s: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Horovod:
    """Horovod's thread and what it exposed."""

    locations: tuple[HorovodLocation, ...]
    exposed: HorovodExposed


@dataclass(frozen=True)
class Negotiations:
    """How ranks agreed on tensors that are ready; in `seconds` any was under way."""

    count: int  # that came to an end
    with_ranks: int  # of which the ranks are known
    unfinished: int
    seconds: float
    skew_s: float  # from the first to the last rank, summed
    skew_s_most: float | None  # of one; null without ranks


@dataclass(frozen=True)
class TensorActivity:
    """One activity of Horovod: `seconds` is the union, `summed_s` the sum over tensors."""

    name: str
    count: int
    seconds: float
    summed_s: float
    depth: int


@dataclass(frozen=True)
class Spread:
    """Least, median and most of one fused operation."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class TensorFusions:
    """Operations that carried several tensors."""

    operations: int
    tensors: Spread | None  # of one; null where unknown
    bytes: Spread | None  # of one; null where unknown


@dataclass(frozen=True)
class TensorSkew:
    """One tensor, and who was last with it."""

    name: str
    negotiations: int
    bytes: int | None
    skew_s: float
    last_rank: int | None  # last in the negotiations that took most of the skew
    last_share: float | None  # of the skew, in these


@dataclass(frozen=True)
class Tensors:
    """What Horovod's timeline tells of tensors; by rank in the order of `ranks`.

    `wait_s_by_rank` is, by operation, the time in which a rank had some tensor ready that others
    had not; empty with `reason` where no negotiation names ranks. `late_s_by_rank` is the time in
    which another rank had a tensor ready and this one came last with it, in negotiations that began
    when all ranks had come for the first time, and `start_late_s_by_rank` before. `tensors` begins
    with the longest skew.
    """

    ranks: tuple[int, ...]  # that are named
    window_s: float  # length of the timeline
    negotiations: Negotiations
    reason: str | None
    wait_s_by_rank: dict[str, tuple[float, ...]]
    last_by_rank: tuple[int, ...]  # negotiations in which a rank was last
    first_by_rank: tuple[int, ...]  # negotiations in which a rank was first
    late_s_by_rank: tuple[float, ...]
    start_late_s_by_rank: tuple[float, ...]
    activities: tuple[TensorActivity, ...]
    fusions: TensorFusions
    cycles: int  # marked with HOROVOD_TIMELINE_MARK_CYCLES
    tensor_count: int  # of all, of which `tensors` lists those with most skew
    tensors: tuple[TensorSkew, ...]
