"""Processes that ranks started, and what recording cost in them."""

from collections.abc import Mapping

from perfscope.structures import dataclass
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


def count_under(values: Mapping[str, object], name: str) -> int:
    """What is counted under a name, at most what 62 bits hold; 0 where that is no count."""
    told = values.get(name)
    if isinstance(told, bool) or not isinstance(told, int):
        return 0
    return told if 0 <= told < 1 << 62 else 0
