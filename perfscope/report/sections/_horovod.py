"""Horovod's part of the communication section: its thread, and what the ranks had to wait for."""

from itertools import zip_longest

from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.horovod import Horovod

MOST_RANKS = 64
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
            "horovod", "Horovod’s thread on each rank", RANKS, held, MOST_RANKS, "ranks"
        ),
    }
