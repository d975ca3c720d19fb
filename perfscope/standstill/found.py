"""Whether nobody got on any more in a job that was ended from outside, and since when."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.schema.enums import EndKind
from perfscope.standstill.calls import open_call
from perfscope.standstill.ranks import (
    is_asleep,
    moments_of,
    open_phase,
    progress_ns,
)
from perfscope.structures import dataclass
from perfscope.trace.model import Ending, Format, Rank, Trace
from perfscope.trace.worlds import asked_for

LEAST_NS = 10 * 10**9
"""A shorter time without progress is told of no run: steps may take as long."""
AT_ONCE_NS = 2 * 10**9
"""Who ended no earlier than so long before the last one was there until the end."""
HOROVODS = "hvd."
"""How the phases begin in which a program waits for what it asked Horovod for."""


@dataclass(frozen=True)
class Standstill:
    """The end of a run in which no rank began or finished anything."""

    since_ns: int  # the last progress of any rank
    until_ns: int  # when the last rank was ended
    trace: Trace  # the run as it stood then: whose ranks had not ended have no ending
    is_deadlock: bool  # whether every rank was waiting for others

    @property
    def length_ns(self) -> int:
        """How long it took."""
        return self.until_ns - self.since_ns


def standstill(trace: Trace) -> Standstill | None:
    """The standstill at the end of a job; None where it has none, or ended by itself.

    Ranks wait in it, or all are asleep or give no sign of life, and it is longer than any time
    without progress before: one evaluation may take as long as another one. Of a run of which only
    some steps were kept the whole one is looked at, and nothing is compared with what lies between
    these.
    """
    run = trace.whole or trace
    if run.format is not Format.PERFSCOPE or max(run.world_size, asked_for(run) or 0) < 2:
        return None
    if all(rank.ending.is_natural for rank in run.ranks):
        return None
    until_ns = max(map(_over_ns, run.ranks))
    since_ns = max(map(progress_ns, run.ranks))
    if until_ns - since_ns < LEAST_NS:
        return None
    there = [rank for rank in run.ranks if _over_ns(rank) >= until_ns - AT_ONCE_NS]
    waiting = [rank for rank in there if _waits(run, rank)]
    if not waiting and not all(rank.silent_ns or is_asleep(rank, since_ns) for rank in there):
        return None
    if trace.whole is None and _longest_before_ns(run.ranks) >= until_ns - since_ns:
        return None
    numbers = {rank.number for rank in there}
    ranks = [replace(one, ending=_RUNS) if one.number in numbers else one for one in run.ranks]
    return Standstill(
        since_ns=since_ns,
        until_ns=until_ns,
        trace=replace(run, ranks=ranks),
        is_deadlock=len(waiting) == max(run.world_size, asked_for(run) or 0),
    )


_RUNS = Ending(EndKind.UNKNOWN, None, "it was there until the end")


def _over_ns(rank: Rank) -> int:
    """When the rank was over: a stopped process gives no sign of life for long before."""
    return rank.end_ns + rank.silent_ns


def _waits(trace: Trace, rank: Rank) -> bool:
    """Whether the program's own thread is in a call for others."""
    return open_call(rank) is not None or open_phase(trace, rank).startswith(HOROVODS)


def _longest_before_ns(ranks: Sequence[Rank]) -> int:
    """The longest time in which no rank got on, from the first call of any on."""
    moments = np.concatenate([times for rank in ranks for times in moments_of(rank)])
    moments.sort()
    begun = moments[moments > max(rank.start_ns for rank in ranks)]
    return int(np.diff(begun).max(initial=0))
