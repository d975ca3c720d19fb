"""Horovod's part of the communication section: its thread, and what the ranks had to wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, maybe_numbers, number, rows, text
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context

MOST_RANKS = 64


def horovod(document: Document) -> Context | None:
    """What the template shows of Horovod; None where the job did not use it."""
    locations = rows(document, "horovod", "locations")
    if not locations:
        return None
    exposed = mapping(document, "horovod", "exposed")
    waits = maybe_numbers(exposed, "step_wait_s_median_by_rank")
    transfers = maybe_numbers(exposed, "step_transfer_s_median_by_rank")
    ranks = [_location(row) for row in locations[:MOST_RANKS]]
    for place, row in enumerate(ranks):
        row["wait"] = seconds(waits[place]) if place < len(waits) else ""
        row["transfer"] = seconds(transfers[place]) if place < len(transfers) else ""
    return {
        "reason": text(exposed, "reason"),
        "ranks": ranks,
        "left_out": max(len(locations) - MOST_RANKS, 0),
    }


def _location(row: Mapping[str, Any]) -> Context:
    sizes = mapping(row, "fusion_bytes")
    return {
        "rank": count(number(row.get("rank"))),
        "data": seconds(number(row.get("data_s"))),
        "control": seconds(number(row.get("control_s"))),
        "idle": seconds(number(row.get("idle_s"))),
        "cycles": count(number(row.get("control_cycles"))),
        "allreduces": count(number(sizes.get("allreduces"))),
        "median": bytes_(number(sizes.get("median"))),
        "most": bytes_(number(sizes.get("most"))),
    }
