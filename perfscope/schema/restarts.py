"""What was found of a job that was started again and again: the part `restarts` of study.json."""

from perfscope.structures import dataclass


@dataclass(frozen=True)
class Attempt:
    """One start of the job, to its end; `gap_s + start_up_s + kept_s + lost_s` is all its time."""

    label: str
    path: str
    start_s: float  # since the start of the first attempt
    length_s: float
    gap_s: float  # from the end of the attempt before to the start of this one
    start_up_s: float  # from its start to its first step, or to its end where it made none
    kept_s: float  # work that later attempts, or the result, build on
    lost_s: float  # work behind its last complete checkpoint that had to be done again
    lost_steps: int  # steps in that time, of the rank that made most
    steps: int
    ranks: int
    hosts: int
    checkpoints: int  # that were completed, by all ranks that write them
    checkpoint_s: float  # that they took, of the slowest rank
    ended_well: bool  # whether it reached its end by itself
    ending: str  # how it ended, in words


@dataclass(frozen=True)
class CheckpointInterval:
    """How often checkpoints are written, and how often would cost least."""

    # between the ends of two checkpoints, the median; null with less than two
    seconds: float | None
    # `sqrt(2 * cost_s * between_failures_s)`, after J. W. Young, Communications of the ACM, 1974
    best_s: float
    cost_s: float  # of one checkpoint, the mean
    between_failures_s: float  # time in which the job ran, for each end that was none of its own


@dataclass(frozen=True)
class Restarts:
    """A job over all its attempts."""

    attempts: tuple[Attempt, ...]
    elapsed_s: float  # from the start of the first attempt to the end of the last one
    kept_s: float  # sums over the attempts; together `elapsed_s`
    lost_s: float  # sums over the attempts; together `elapsed_s`
    start_up_s: float  # sums over the attempts; together `elapsed_s`
    gap_s: float  # sums over the attempts; together `elapsed_s`
    interval: CheckpointInterval | None  # null where no attempt failed, or none wrote a checkpoint
