"""Horovod's part of the communication section: its thread, and what the ranks had to wait for."""

from itertools import zip_longest

from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.horovod import Horovod, TensorActivity, TensorFusions, Tensors, TensorSkew
from perfscope.units import format_share

MOST_RANKS = 64
MOST_ACTIVITIES = 40
MOST_TENSORS = 20


def tensors(found: Tensors | None) -> Context | None:
    """What the template shows of tensors; None where no timeline was read."""
    if found is None:
        return None
    return {
        "negotiations": count(found.negotiations.count),
        "told": count(found.negotiations.with_ranks),
        "reason": found.reason,
        "ranks": _ranks(found),
        "activities": Table(
            "tensor-activities",
            "What was done with tensors",
            ACTIVITIES,
            found.activities,
            MOST_ACTIVITIES,
            "activities",
        ),
        "fused": _fused(found.fusions),
        "rows": Table(
            "tensors",
            "Tensors by the time between the first rank and the last",
            TENSORS,
            found.tensors,
            MOST_TENSORS,
            "tensors",
        ),
    }


def _ranks(found: Tensors) -> Table:
    """Readiness by rank; without rows where the timeline does not tell the ranks."""
    waits = found.wait_s_by_rank
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
    names = [f"rank {rank}" for rank in found.ranks]
    by_rank = (found.last_by_rank, found.first_by_rank, found.late_s_by_rank, *waits.values())
    lines = zip_longest(names, *(values[: len(names)] for values in by_rank))
    held = list(lines) if waits else []
    return Table("tensor-ranks", "Readiness by rank", columns, held, MOST_RANKS, "ranks")


def _activity(row: TensorActivity) -> str:
    return "\u2003" * min(max(row.depth, 0), 8) + row.name


def _fused(found: TensorFusions) -> str:
    if found.tensors is None:
        return ""
    said = (
        f"{count(found.operations)} operations on the wire, of {count(found.tensors.least)} to "
        f"{count(found.tensors.most)} tensors each"
    )
    return f"{said}; {bytes_(found.bytes.median)} in the median." if found.bytes else f"{said}."


def _mostly_last(row: TensorSkew) -> str | None:
    if row.last_rank is None or row.last_share is None:
        return None
    return f"rank {row.last_rank}, {format_share(row.last_share)}"


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


RANKS = (
    Column("Rank", lambda row: f"rank {row[0].rank}", kind=Kind.TEXT),
    Column("Wait per step", 1, seconds),
    Column("Transfer per step", 2, seconds),
    Column("Sending tensors", lambda row: row[0].data_s, seconds),
    Column("Negotiation", lambda row: row[0].control_s, seconds),
    Column("Idle", lambda row: row[0].idle_s, seconds),
    Column("Cycles", lambda row: row[0].control_cycles, count),
    Column("Allreduces", lambda row: row[0].fusion_bytes.allreduces, count),
    Column("Median size", lambda row: row[0].fusion_bytes.median, bytes_),
    Column("Largest", lambda row: row[0].fusion_bytes.most, bytes_),
)


def horovod(found: Horovod | None) -> Context | None:
    """What the template shows of Horovod; None where the job did not use it."""
    if found is None or not found.locations:
        return None
    places, exposed = found.locations, found.exposed
    waits = exposed.step_wait_s_median_by_rank[: len(places)]
    transfers = exposed.step_transfer_s_median_by_rank[: len(places)]
    held = [*zip_longest(places, waits, transfers)]
    return {
        "reason": exposed.reason,
        "ranks": Table(
            "horovod", "Horovod's thread on each rank", RANKS, held, MOST_RANKS, "ranks"
        ),
    }
