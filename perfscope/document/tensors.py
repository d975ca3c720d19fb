"""Who was last to have tensors ready, in words."""

from collections.abc import Sequence

from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.metrics.results import Results
from perfscope.units import format_seconds, format_share

START_SHARE = 0.1
"""Of the ranks' lateness at the start: less than that later, and the start is what matters."""


def sentence(results: Results) -> str:
    """Who was last to have tensors ready, in one sentence; "" where the timeline does not tell."""
    found = results.tensors
    if found is None or found.reason:
        return ""
    late, at_start_s = found.late_s_by_rank, found.start_late_s_by_rank
    late_s = sum(late) + sum(at_start_s)
    if 0 < late_s < WARN_SHARE * found.window_s:
        return (
            "No rank kept the others waiting: between the first rank that has a tensor ready and "
            f"the last, {format_seconds(late_s)} of {format_seconds(found.window_s)} pass."
        )
    started, later = _latest(found.ranks, at_start_s), _latest(found.ranks, late)
    at_start = f"{started[1]} of the time between the first rank and the last at the start"
    if sum(late) < START_SHARE * sum(at_start_s):
        return f"Rank {started[0]} was the last to have a tensor ready for {at_start}."
    if not sum(late):
        return ""
    count = found.last_by_rank[found.ranks.index(later[0])]
    before = f"; rank {started[0]} for {at_start}" if sum(at_start_s) else ""
    return (
        f"Rank {later[0]} was the last to have a tensor ready for {later[1]} of the time between "
        f"the first rank and the last, in {count:,} of {found.negotiations.with_ranks:,} "
        f"negotiations that name the ranks{before}."
    )


def _latest(ranks: Sequence[int], late_s: Sequence[float]) -> tuple[int, str]:
    """The rank that kept the others waiting longest, and how long, of all such time."""
    most = max(late_s)
    share = format_share(most / sum(late_s) if most else 0.0)
    said = f"{format_seconds(most)} ({share})"
    return ranks[late_s.index(most)], said
