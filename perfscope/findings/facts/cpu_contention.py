"""What ranks that wait for CPUs explain, so that no other finding takes it for its own."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Finding
from perfscope.metrics.host.resources import queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.resources import ThreadsOfRank
from perfscope.units import NS


def waited_as_long(results: Results, seconds: float) -> bool:
    """Whether a rank waits for CPUs for at least so long, so that chance may have cost as much."""
    waited = max((rank.queue_delay_s for rank in results.resources.threads), default=0.0)
    return waited >= seconds


def is_disturbed(results: Results) -> bool:
    """Whether most ranks wait for CPUs all the time: others or the system run at their expense."""
    ranks = results.resources.threads
    return 2 * sum(_is_noticeable(rank) for rank in ranks) > len(results.trace.ranks)


def waited_longer(results: Results, number: int, seconds: float) -> bool:
    """Whether a rank waits for CPUs all the time, and for longer than so many seconds."""
    mine = [rank for rank in results.resources.threads if rank.rank == number]
    return any(_is_noticeable(rank) and _held_up_s(rank) >= seconds for rank in mine)


def least_waited_s(results: Results) -> float:
    """Seconds that every rank waits for CPUs at least; 0.0 where some rank hardly does.

    Where every CPU has a busy rank, the system and others run at the expense of one of them, and
    whom they meet is chance.
    """
    ranks = results.resources.threads
    if len(ranks) < len(results.trace.ranks) or not all(_is_noticeable(rank) for rank in ranks):
        return 0.0
    return min((_held_up_s(rank) for rank in ranks), default=0.0)


def waited_by_turns(results: Results, seconds: float) -> bool:
    """Whether waiting for CPUs may make a different rank late each time, for so long in all.

    All wait for the one that waits for its CPU, so what that costs adds up over the ranks. What is
    left unexplained must not be worth a word.
    """
    ranks = results.resources.threads
    left_s = seconds - sum(_held_up_s(rank) for rank in ranks)
    is_little = left_s < thresholds.WARN_SHARE * results.focus.length_ns * NS
    return is_little and queue_share(ranks) >= thresholds.QUEUE_DELAY_SHARE


def _is_noticeable(rank: ThreadsOfRank) -> bool:
    return queue_share([rank]) >= thresholds.QUEUE_DELAY_SHARE


def _held_up_s(rank: ThreadsOfRank) -> float:
    """Seconds that waiting for CPUs may hold a rank up: threads that wait at once count once."""
    return rank.queue_delay_s / max(1.0, rank.runnable_mean)


def told_only(finding: Finding) -> Finding:
    """The finding, which claims no seconds where it is only told of (info)."""
    return replace(finding, gain=None, first=None) if finding.status is Status.INFO else finding


def share_cpus(results: Results, numbers: Sequence[int]) -> bool:
    """Whether all of these ranks may run on the same CPUs."""
    ranks = [rank for rank in results.trace.ranks if rank.number in numbers]
    places = {(rank.host, rank.cpus_allowed) for rank in ranks}
    return len(places) == 1 and bool(ranks) and bool(ranks[0].cpus_allowed)
