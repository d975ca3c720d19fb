"""Horovod's part of the communication section: its thread, and what the ranks had to wait for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from perfscope.report.access import Document, mapping, maybe_numbers, rank_name, rows, text
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table

MOST_RANKS = 64
RANKS = (
    Column("Rank", rank_name, kind=Kind.TEXT),
    Column("Wait per step", "wait_s", seconds),
    Column("Transfer per step", "transfer_s", seconds),
    Column("Sending tensors", "data_s", seconds),
    Column("Agreeing", "control_s", seconds),
    Column("Idle", "idle_s", seconds),
    Column("Cycles", "control_cycles", count),
    Column("Allreduces", "allreduces", count),
    Column("Median size", "median", bytes_),
    Column("Largest", "most", bytes_),
)


def horovod(document: Document) -> Context | None:
    """What the template shows of Horovod; None where the job did not use it."""
    locations = rows(document, "horovod", "locations")
    if not locations:
        return None
    exposed = mapping(document, "horovod", "exposed")
    of_steps = zip_longest(
        maybe_numbers(exposed, "step_wait_s_median_by_rank")[: len(locations)],
        maybe_numbers(exposed, "step_transfer_s_median_by_rank")[: len(locations)],
    )
    found = [
        {**location, **mapping(location, "fusion_bytes"), "wait_s": wait, "transfer_s": transfer}
        for location, (wait, transfer) in zip_longest(locations, of_steps, fillvalue=(None, None))
        if isinstance(location, Mapping)
    ]
    return {
        "reason": text(exposed, "reason"),
        "ranks": Table(
            "horovod", "Horovod’s thread on each rank", RANKS, found, MOST_RANKS, "ranks"
        ),
    }
