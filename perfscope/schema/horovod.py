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

    Attributes:
        control_cycles: in which the ranks agreed on what is ready.
        data_calls: that carry tensors, by operation.
    """

    rank: int
    thread: int
    data_s: float
    control_s: float
    other_s: float
    idle_s: float
    control_cycles: int
    data_calls: dict[str, int]
    data_bytes: int
    fusion_bytes: FusionBytes


@dataclass(frozen=True)
class HorovodExposed:
    """Communication of Horovod that the ranks waited for, by rank and by step.

    Attributes:
        reason: why it is not known, else null.
        wait_s_by_rank, transfer_s_by_rank: over the focus; these are the waits and transfers of
            `collectives`.
        step_wait_s_median_by_rank, step_transfer_s_median_by_rank: median over the steps of a rank.
        steps: their numbers.
        step_wait_s, step_transfer_s: a row by rank for each step; null where a rank does not have
            it.
    """

    reason: str | None
    wait_s_by_rank: tuple[float, ...]
    transfer_s_by_rank: tuple[float, ...]
    step_wait_s_median_by_rank: tuple[float | None, ...]
    step_transfer_s_median_by_rank: tuple[float | None, ...]
    steps: tuple[int, ...]
    step_wait_s: tuple[tuple[float | None, ...], ...]
    step_transfer_s: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Horovod:
    """Horovod's thread and what it exposed."""

    locations: tuple[HorovodLocation, ...]
    exposed: HorovodExposed


@dataclass(frozen=True)
class Negotiations:
    """How ranks agreed on tensors that are ready; in `seconds` any was under way.

    Attributes:
        count: that came to an end.
        with_ranks: of which the ranks are known.
        skew_s: from the first to the last rank, summed.
        skew_s_most: of one; null without ranks.
    """

    count: int
    with_ranks: int
    unfinished: int
    seconds: float
    skew_s: float
    skew_s_most: float | None


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
    """Operations that carried several tensors.

    Attributes:
        tensors, bytes: of one; null where unknown.
    """

    operations: int
    tensors: Spread | None
    bytes: Spread | None


@dataclass(frozen=True)
class TensorSkew:
    """One tensor, and who was last with it.

    Attributes:
        last_rank: last in the negotiations that took most of the skew.
        last_share: of the skew, in these.
    """

    name: str
    negotiations: int
    bytes: int | None
    skew_s: float
    last_rank: int | None
    last_share: float | None


@dataclass(frozen=True)
class Tensors:
    """What Horovod's timeline tells of tensors; by rank in the order of `ranks`.

    `wait_s_by_rank` is, by operation, the time in which a rank had some tensor ready that others
    had not; empty with `reason` where no negotiation names ranks. `late_s_by_rank` is the time in
    which another rank had a tensor ready and this one came last with it, in negotiations that began
    when all ranks had come for the first time, and `start_late_s_by_rank` before. `tensors` begins
    with the longest skew.

    Attributes:
        ranks: that are named.
        window_s: length of the timeline.
        last_by_rank, first_by_rank: negotiations in which a rank was last, first.
        cycles: marked with HOROVOD_TIMELINE_MARK_CYCLES.
        tensor_count: of all, of which `tensors` lists those with most skew.
    """

    ranks: tuple[int, ...]
    window_s: float
    negotiations: Negotiations
    reason: str | None
    wait_s_by_rank: dict[str, tuple[float, ...]]
    last_by_rank: tuple[int, ...]
    first_by_rank: tuple[int, ...]
    late_s_by_rank: tuple[float, ...]
    start_late_s_by_rank: tuple[float, ...]
    activities: tuple[TensorActivity, ...]
    fusions: TensorFusions
    cycles: int
    tensor_count: int
    tensors: tuple[TensorSkew, ...]
