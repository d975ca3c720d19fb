"""The part of the communication section that Horovod's timeline fills: readiness and transfers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from perfscope.report.access import Document, integers, mapping, maybe_numbers, number, rows, text
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.units import format_share

MOST_RANKS = 64
MOST_ACTIVITIES = 40
MOST_TENSORS = 20


def tensors(document: Document) -> Context | None:
    """What the template shows of tensors; None where no timeline was read."""
    found = mapping(document, "tensors")
    if not found:
        return None
    negotiations = mapping(found, "negotiations")
    return {
        "negotiations": count(number(negotiations.get("count"))),
        "told": count(number(negotiations.get("with_ranks"))),
        "reason": text(found, "reason"),
        "ranks": _ranks(found),
        "activities": Table(
            "tensor-activities",
            "What was done with tensors",
            ACTIVITIES,
            rows(found, "activities"),
            MOST_ACTIVITIES,
            "activities",
        ),
        "fused": _fused(mapping(found, "fusions")),
        "rows": Table(
            "tensors",
            "Tensors by the time between the first rank and the last",
            TENSORS,
            rows(found, "tensors"),
            MOST_TENSORS,
            "tensors",
        ),
    }


def _ranks(found: Mapping[str, Any]) -> Table:
    """Readiness by rank; without rows where the timeline does not tell the ranks."""
    waits = mapping(found, "wait_s_by_rank")
    columns = (
        Column("Rank", 0, kind=Kind.TEXT),
        Column("Last", 1, count),
        Column("First", 2, count),
        Column("Kept others waiting", 3, seconds),
        *(
            Column(f"Ready before the last: {name.lower()}", place, seconds)
            for place, name in enumerate(waits, start=4)
        ),
    )
    names = [f"rank {rank}" for rank in integers(found, "ranks")]
    by_rank = [
        *(maybe_numbers(found, key) for key in ("last_by_rank", "first_by_rank", "late_s_by_rank")),
        *(maybe_numbers(waits, name) for name in waits),
    ]
    lines = zip_longest(names, *(values[: len(names)] for values in by_rank))
    held = list(lines) if waits else []
    return Table("tensor-ranks", "Readiness by rank", columns, held, MOST_RANKS, "ranks")


def _activity(row: Mapping[str, Any]) -> str:
    depth = min(max(int(number(row.get("depth")) or 0), 0), 8)
    return "\u2003" * depth + text(row, "name")


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


def _mostly_last(row: Mapping[str, Any]) -> str | None:
    last, share = number(row.get("last_rank")), number(row.get("last_share"))
    if last is None or share is None:
        return None
    return f"rank {int(last)}, {format_share(share)}"


ACTIVITIES = (
    Column("Activity", _activity, kind=Kind.CODE),
    Column("Times", "count", count),
    Column("Time", "seconds", seconds),
    Column("Summed over tensors", "summed_s", seconds),
)
TENSORS = (
    Column("Tensor", "name", kind=Kind.CODE),
    Column("Size", "bytes", bytes_),
    Column("Negotiations", "negotiations", count),
    Column("First to last rank", "skew_s", seconds),
    Column("Mostly last", _mostly_last, kind=Kind.TEXT),
)
