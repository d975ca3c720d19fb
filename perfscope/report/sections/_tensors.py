"""The part of the communication section that Horovod's timeline fills: readiness and transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, mapping, maybe_numbers, number, rows, text
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context
from perfscope.units import format_share

MOST_RANKS = 64
MOST_ACTIVITIES = 40
MOST_TENSORS = 20


def tensors(document: Document) -> Context | None:
    """What the template shows of tensors; None where no timeline was read."""
    found = mapping(document, "tensors")
    if not found:
        return None
    ranks = integers(found, "ranks")
    waits = mapping(found, "wait_s_by_rank")
    negotiations = mapping(found, "negotiations")
    return {
        "negotiations": count(number(negotiations.get("count"))),
        "told": count(number(negotiations.get("with_ranks"))),
        "reason": text(found, "reason"),
        "waits": tuple(f"Ready before the last: {name.lower()}" for name in waits),
        "ranks": _ranks(found, ranks[:MOST_RANKS]) if waits else [],
        "ranks_left_out": max(len(ranks) - MOST_RANKS, 0),
        "activities": [_activity(row) for row in rows(found, "activities")[:MOST_ACTIVITIES]],
        "fused": _fused(mapping(found, "fusions")),
        "rows": [_tensor(row) for row in rows(found, "tensors")[:MOST_TENSORS]],
    }


def _ranks(found: Mapping[str, Any], ranks: list[int]) -> list[Context]:
    last, first = (maybe_numbers(found, key) for key in ("last_by_rank", "first_by_rank"))
    late = maybe_numbers(found, "late_s_by_rank")
    waits = [
        maybe_numbers(found, "wait_s_by_rank", name) for name in mapping(found, "wait_s_by_rank")
    ]
    return [
        {
            "rank": count(rank),
            "last": count(last[place]) if place < len(last) else "",
            "first": count(first[place]) if place < len(first) else "",
            "late": seconds(late[place]) if place < len(late) else "",
            "waits": [seconds(column[place]) if place < len(column) else "" for column in waits],
        }
        for place, rank in enumerate(ranks)
    ]


def _activity(row: Mapping[str, Any]) -> Context:
    depth = min(max(int(number(row.get("depth")) or 0), 0), 8)
    return {
        "name": "\u2003" * depth + text(row, "name"),
        "count": count(number(row.get("count"))),
        "seconds": seconds(number(row.get("seconds"))),
        "summed": seconds(number(row.get("summed_s"))),
    }


def _fused(found: Mapping[str, Any]) -> str:
    operations = count(number(found.get("operations")))
    tensors_ = mapping(found, "tensors")
    if not tensors_:
        return ""
    said = (
        f"{operations} operations on the wire, of {count(number(tensors_.get('least')))} to "
        f"{count(number(tensors_.get('most')))} tensors each"
    )
    sizes = mapping(found, "bytes")
    if not sizes:
        return f"{said}."
    return f"{said}; {bytes_(number(sizes.get('median')))} in the median."


def _tensor(row: Mapping[str, Any]) -> Context:
    last, share = number(row.get("last_rank")), number(row.get("last_share"))
    return {
        "name": text(row, "name"),
        "size": bytes_(number(row.get("bytes"))),
        "count": count(number(row.get("negotiations"))),
        "skew": seconds(number(row.get("skew_s"))),
        "last": f"rank {int(last)}, {format_share(share)}"
        if last is not None and share is not None
        else "unknown",
    }
