"""What was found of a job that was started again and again: the part `restarts` of study.json."""

from perfscope.structures import dataclass


@dataclass(frozen=True)
class Attempt:
    """One start of the job, to its end; `gap_s + start_up_s + kept_s + lost_s` is all its time.

    Attributes:
        start_s: since the start of the first attempt.
        gap_s: from the end of the attempt before to the start of this one.
        start_up_s: from its start to its first step, or to its end where it made none.
        kept_s: work that later attempts, or the result, build on.
        lost_s: work behind its last complete checkpoint that had to be done again.
        lost_steps: steps in that time, of the rank that made most.
        checkpoints: that were completed, by all ranks that write them.
        checkpoint_s: that they took, of the slowest rank.
        ended_well: whether it reached its end by itself.
        ending: how it ended, in words.
    """

    label: str
    path: str
    start_s: float
    length_s: float
    gap_s: float
    start_up_s: float
    kept_s: float
    lost_s: float
    lost_steps: int
    steps: int
    ranks: int
    hosts: int
    checkpoints: int
    checkpoint_s: float
    ended_well: bool
    ending: str


@dataclass(frozen=True)
class CheckpointInterval:
    """How often checkpoints are written, and how often would cost least.

    Attributes:
        seconds: between the ends of two checkpoints, the median; null with less than two.
        best_s: `sqrt(2 * cost_s * between_failures_s)`, after J. W. Young, Communications of the
            ACM 17 (1974).
        cost_s: of one checkpoint, the mean.
        between_failures_s: time in which the job ran, for each end that was none of its own.
    """

    seconds: float | None
    best_s: float
    cost_s: float
    between_failures_s: float


@dataclass(frozen=True)
class Restarts:
    """A job over all its attempts.

    Attributes:
        elapsed_s: from the start of the first attempt to the end of the last one.
        kept_s, lost_s, start_up_s, gap_s: sums over the attempts; together `elapsed_s`.
        interval: null where no attempt failed, or none wrote a checkpoint.
    """

    attempts: tuple[Attempt, ...]
    elapsed_s: float
    kept_s: float
    lost_s: float
    start_up_s: float
    gap_s: float
    interval: CheckpointInterval | None
