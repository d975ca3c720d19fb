"""Processes that ranks started, and what recording cost in them."""

from collections.abc import Mapping

from perfscope.structures import dataclass
from perfscope.trace.counts import count_under
from perfscope.trace.model import Rank

STARTED = "started"
"""Under which the metadata of a rank holds that."""


@dataclass(frozen=True)
class Started:
    """Python processes that a rank started, and CPU time that the agent took at their start."""

    processes: int = 0
    cpu_ns: int = 0


def forks(rank: Rank) -> int:
    """How often a rank was forked, with its memory; 0 where that is not known."""
    return count_under(rank.metadata, "forks")


def started(rank: Rank) -> Started:
    """What a rank started."""
    told = rank.metadata.get(STARTED)
    if not isinstance(told, Mapping):
        return Started()
    return Started(count_under(told, "processes"), count_under(told, "cpu_ns"))


def starts_no_process(rank: Rank) -> bool:
    """Whether a rank is known to have started no process of Python."""
    return "forks" in rank.metadata and not forks(rank) and not started(rank).processes


def forks_in_steps(rank: Rank) -> bool:
    """Whether a rank forks more often than it has steps, not as workers start with an epoch."""
    return forks(rank) > len(rank.steps)
