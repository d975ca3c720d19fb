"""Sentences about which rank was last to have its tensors ready."""

from collections.abc import Sequence

from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.metrics.results import Results
from perfscope.units import capitalized, format_seconds, format_share

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
    at_start = _waited(*started, "all such waiting then")
    if sum(late) < START_SHARE * sum(at_start_s):
        return f"At the start, {at_start}."
    if not sum(late):
        return ""
    count = found.last_by_rank[found.ranks.index(later[0])]
    before = f"; at the start, {at_start}" if sum(at_start_s) else ""
    of = "all such waiting after the start" if before else "all such waiting"
    said = _waited(*later, of)
    return (
        f"{capitalized(said)}: it was last in {count:,} of "
        f"{found.negotiations.with_ranks:,} negotiations that name the ranks{before}."
    )


def _waited(rank: int, seconds: str, share: str, of: str) -> str:
    return f"other ranks waited {seconds} for rank {rank} to have a tensor ready ({share} of {of})"


def _latest(ranks: Sequence[int], late_s: Sequence[float]) -> tuple[int, str, str]:
    """The rank that kept the others waiting longest, how long, and its share of all such time."""
    most = max(late_s)
    share = format_share(most / sum(late_s) if most else 0.0)
    return ranks[late_s.index(most)], format_seconds(most), share
