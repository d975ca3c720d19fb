"""A job over its attempts: the time spent on work that no later attempt built on."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from perfscope.errors import UsageError
from perfscope.metrics.attempts import Progress, progress
from perfscope.schema.restarts import Attempt, CheckpointInterval, Restarts
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.trace.worlds import has_changing_ranks
from perfscope.units import counted

OVERLAP_S = 5.0
"""Wall clocks of hosts, and the end of a launcher, may be apart by so much."""


@dataclass(frozen=True)
class Start:
    """One start of the job, as recorded."""

    label: str  # unique among the attempts
    trace: Trace  # what was recorded of it
    start_unix_s: float  # when it began
    end_unix_s: float  # when it was over
    # of the command where the attempt is the last of its recording, else None
    exit_code: int | None


def starts_of(label: str, traces: Sequence[Trace]) -> list[Start]:
    """The attempts in one recording: a launcher such as torchrun may start ranks anew."""
    found = []
    for place, trace in enumerate(traces):
        is_first, is_last = place == 0, place == len(traces) - 1
        first_ns = min(rank.start_ns for rank in trace.ranks)
        last_ns = max(rank.end_ns for rank in trace.ranks)
        end_ns = max(last_ns, trace.wall_ns) if is_last else last_ns
        start = Start(
            label=label if len(traces) == 1 else f"{label} #{place + 1}",
            trace=trace,
            start_unix_s=(trace.origin_unix_ns + (0 if is_first else first_ns)) / 1e9,
            end_unix_s=(trace.origin_unix_ns + end_ns) / 1e9,
            exit_code=trace.exit_code if is_last else None,
        )
        found.append(start)
    return found


def restarts(starts: Sequence[Start]) -> Restarts:
    """What became of the time of a job.

    Raises:
        UsageError: two of them ran at the same time, so that they are two jobs.
    """
    ordered = sorted(starts, key=lambda start: start.start_unix_s)
    for before, start in pairwise(ordered):
        if start.start_unix_s < before.end_unix_s - OVERLAP_S:
            raise UsageError(
                f"{before.label} and {start.label} ran at the same time.",
                why="Attempts of one job follow each other.",
                action="Give the recordings of one job alone, or compare runs: perfscope compare.",
            )
    found = [progress(start.trace) for start in ordered]
    attempts = tuple(_attempt(ordered, place, done) for place, done in enumerate(found))
    return Restarts(
        attempts=attempts,
        elapsed_s=sum(one.gap_s + one.length_s for one in attempts),
        kept_s=sum(one.kept_s for one in attempts),
        lost_s=sum(one.lost_s for one in attempts),
        start_up_s=sum(one.start_up_s for one in attempts),
        gap_s=sum(one.gap_s for one in attempts),
        interval=_interval(attempts, found),
    )


def _attempt(ordered: Sequence[Start], place: int, done: Progress) -> Attempt:
    start = ordered[place]
    trace, origin_s = start.trace, start.trace.origin_unix_ns / 1e9
    begun_s = (
        start.start_unix_s if place == 0 else max(start.start_unix_s, ordered[place - 1].end_unix_s)
    )
    length_s = max(start.end_unix_s - begun_s, 0.0)
    first_ns = done.first_step_ns
    at_s = start.end_unix_s if first_ns is None else origin_s + first_ns / 1e9
    start_up_s = min(max(at_s - begun_s, 0.0), length_s)
    ended_well, ending = _ending(start)
    lost_s = 0.0 if ended_well else length_s - start_up_s
    if not ended_well and done.checkpoint_ends_ns:
        saved_s = origin_s + done.checkpoint_ends_ns[-1] / 1e9
        lost_s = max(min(start.end_unix_s - saved_s, lost_s), 0.0)
    return Attempt(
        label=start.label,
        path=trace.source,
        start_s=begun_s - ordered[0].start_unix_s,
        length_s=length_s,
        gap_s=max(begun_s - ordered[place - 1].end_unix_s, 0.0) if place else 0.0,
        start_up_s=start_up_s,
        kept_s=length_s - start_up_s - lost_s,
        lost_s=lost_s,
        lost_steps=0 if ended_well else done.redone_steps,
        steps=done.steps,
        ranks=trace.world_size,
        hosts=len({rank.host for rank in trace.ranks}),
        checkpoints=len(done.checkpoint_ends_ns),
        checkpoint_s=done.checkpoint_s,
        ended_well=ended_well,
        ending=ending,
    )


def _ending(start: Start) -> tuple[bool, str]:
    """Whether it came to its end by itself, and how it ended."""
    if start.exit_code == 0 and has_changing_ranks(start.trace):
        return True, "exit code 0, with the ranks that it had then"
    for rank in start.trace.ranks:
        if not rank.ending.is_natural or (rank.ending.code or 0) != 0:
            code = "" if rank.ending.code is None else f" ({rank.ending.code})"
            return False, f"rank {rank.number} {rank.ending.kind.value}{code}"
    missing = start.trace.world_size - len(start.trace.ranks)
    if missing:
        return False, f"{counted(missing, 'rank')} left no recording"
    if start.exit_code is None:
        return True, "ended"
    return start.exit_code == 0, f"exit code {start.exit_code}"


def _interval(attempts: Sequence[Attempt], found: Sequence[Progress]) -> CheckpointInterval | None:
    failures = sum(not one.ended_well for one in attempts)
    count = sum(one.checkpoints for one in attempts)
    cost_s = sum(one.checkpoint_s for one in attempts) / count if count else 0.0
    if not failures or cost_s <= 0:
        return None
    running_s = sum(one.length_s for one in attempts) / failures
    apart = [(b - a) / 1e9 for one in found for a, b in pairwise(one.checkpoint_ends_ns)]
    return CheckpointInterval(
        seconds=median(apart) if apart else None,
        best_s=math.sqrt(2 * cost_s * running_s),
        cost_s=cost_s,
        between_failures_s=running_s,
    )
