"""Horovod's timeline in the document: who was last, negotiation, transfers, fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.units import format_seconds

if TYPE_CHECKING:
    from perfscope.metrics.results import Results

Json = dict[str, Any]


def tensors(results: Results) -> Json | None:
    """What the timeline tells of tensors; None where there was no timeline."""
    found = results.tensors
    if found is None:
        return None
    return {
        "ranks": list(found.ranks),
        "window_s": found.window_s,
        "negotiations": {
            "count": found.negotiations,
            "with_ranks": found.with_ticks,
            "unfinished": found.unfinished,
            "seconds": found.negotiation_s,
            "skew_s": found.skew_s_sum,
            "skew_s_most": found.skew_s_max,
        },
        "reason": found.reason,
        "wait_s_by_rank": {name: list(waits) for name, waits in found.wait_s.items()},
        "last_by_rank": list(found.last),
        "first_by_rank": list(found.first),
        "activities": [
            {
                "name": activity.name,
                "count": activity.count,
                "seconds": activity.seconds,
                "summed_s": activity.summed_s,
                "depth": activity.depth,
            }
            for activity in found.activities
        ],
        "fusions": {
            "operations": found.fusions.operations,
            "tensors": _spread(found.fusions.tensors),
            "bytes": _spread(found.fusions.bytes),
        },
        "cycles": found.cycles,
        "tensor_count": found.tensor_count,
        "tensors": [
            {
                "name": tensor.name,
                "negotiations": tensor.negotiations,
                "bytes": tensor.bytes,
                "skew_s": tensor.skew_s,
                "last_rank": tensor.last_rank,
                "last_share": tensor.last_share,
            }
            for tensor in found.tensors
        ],
    }


def sentence(results: Results) -> str:
    """Who was last to have tensors ready, in one sentence; "" where the timeline does not tell."""
    found = results.tensors
    if found is None or not found.with_ticks:
        return ""
    count = max(found.last)
    rank = found.ranks[found.last.index(count)]
    return (
        f"Rank {rank} was the last to have a tensor ready in {count:,} of {found.with_ticks:,} "
        f"negotiations that name the ranks; up to {format_seconds(found.skew_s_max or 0.0)} passed "
        "between the first rank and the last."
    )


def _spread(values: tuple[int, float, int] | None) -> Json | None:
    if values is None:
        return None
    least, median, most = values
    return {"least": least, "median": median, "most": most}
