"""Horovod's timeline in the document: who was last, negotiation, transfers, fusion."""

from __future__ import annotations

from collections.abc import Sequence

from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.metrics.results import Results
from perfscope.schema.communication import Negotiations, Tensors
from perfscope.units import format_seconds, format_share

START_SHARE = 0.1
"""Of the ranks' lateness at the start: less than that later, and the start is what matters."""


def tensors(results: Results) -> Tensors | None:
    """What the timeline tells of tensors; None where there was no timeline."""
    found = results.tensors
    if found is None:
        return None
    return Tensors(
        ranks=found.ranks,
        window_s=found.window_s,
        negotiations=Negotiations(
            count=found.negotiations,
            with_ranks=found.with_ticks,
            unfinished=found.unfinished,
            seconds=found.negotiation_s,
            skew_s=found.skew_s_sum,
            skew_s_most=found.skew_s_max,
        ),
        reason=found.reason,
        wait_s_by_rank={name: tuple(waits) for name, waits in found.wait_s.items()},
        last_by_rank=found.last,
        first_by_rank=found.first,
        late_s_by_rank=found.late_s,
        start_late_s_by_rank=found.start_late_s,
        activities=found.activities,
        fusions=found.fusions,
        cycles=found.cycles,
        tensor_count=found.tensor_count,
        tensors=found.tensors,
    )


def sentence(results: Results) -> str:
    """Who was last to have tensors ready, in one sentence; "" where the timeline does not tell."""
    found = results.tensors
    if found is None or found.reason:
        return ""
    late_s = sum(found.late_s) + sum(found.start_late_s)
    if 0 < late_s < WARN_SHARE * found.window_s:
        return (
            "No rank kept the others waiting: between the first rank that has a tensor ready and "
            f"the last, {format_seconds(late_s)} of {format_seconds(found.window_s)} pass."
        )
    started, later = _latest(found.ranks, found.start_late_s), _latest(found.ranks, found.late_s)
    at_start = f"{started[1]} of the time between the first rank and the last at the start"
    if sum(found.late_s) < START_SHARE * sum(found.start_late_s):
        return f"Rank {started[0]} was the last to have a tensor ready for {at_start}."
    if not sum(found.late_s):
        return ""
    place = found.ranks.index(later[0])
    before = f"; rank {started[0]} for {at_start}" if sum(found.start_late_s) else ""
    return (
        f"Rank {later[0]} was the last to have a tensor ready for {later[1]} of the time between "
        f"the first rank and the last, in {found.last[place]:,} of {found.with_ticks:,} "
        f"negotiations that name the ranks{before}."
    )


def _latest(ranks: Sequence[int], late_s: Sequence[float]) -> tuple[int, str]:
    """The rank that kept the others waiting longest, and how long, of all such time."""
    most = max(late_s)
    share = format_share(most / sum(late_s) if most else 0.0)
    said = f"{format_seconds(most)} ({share})"
    return ranks[late_s.index(most)], said
