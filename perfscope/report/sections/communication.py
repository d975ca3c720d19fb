"""Communication: what each operation cost, where ranks waited, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rank_name, rows, text
from perfscope.report.charts import Segment
from perfscope.report.formats import bytes_, count, seconds
from perfscope.report.labels import phase_words
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections._collective_cost import collective_cost
from perfscope.report.sections._horovod import horovod
from perfscope.report.sections._tensors import tensors
from perfscope.report.sections.causes import phase_labels
from perfscope.report.sections.ledger import draw, rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place, rank_bars

MOST_OPERATIONS = 60
MOST_ARRIVALS = 20
ABSENT = "no communication was recorded; a program that runs by itself has none"
OF_DEVICES = "the ranks’ main threads do not communicate; what their devices do is told with them"
PARTS = (
    ("communication_wait", "Waiting for another rank", "wait_s_by_rank"),
    ("communication_transfer", "Moving data", "transfer_s_by_rank"),
    ("communication_other", "Other communication", "other_s_by_rank"),
)
OPERATIONS = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Calls", "calls", count),
    Column("Time", "seconds", seconds),
    Column("Waiting", "wait_s", seconds),
    Column("Transfer", "transfer_s", seconds),
    Column("Sent", "bytes_sent", bytes_),
    Column("Received", "bytes_received", bytes_),
    Column("Calls with a record", "detailed_calls", count),
)


def _context(document: Document) -> Context:
    communication = mapping(document, "collectives")
    arrivals = rows(communication, "late_arrivals")
    parts = [(role, label, numbers(communication, key)) for role, label, key in PARTS]
    longest = max(len(values) for _, _, values in parts)
    used = [part for part in parts if any(part[2]) and len(part[2]) == longest]
    ranks = rank_numbers(document, longest)
    bars = rank_bars(ranks, [Segment(role, values) for role, _, values in used])
    operations = rows(communication, "operations")
    beside = {
        "horovod": horovod(document),
        "cost": collective_cost(document),
        "tensors": tensors(document),
    }
    absent = ABSENT if mapping(document, "devices", "communication") == {} else OF_DEVICES
    return {
        "absent": "" if used or operations or arrivals or any(beside.values()) else absent,
        "operations": Table(
            "operations",
            "Operations over the whole life of the ranks, all ranks together",
            OPERATIONS,
            operations,
            MOST_OPERATIONS,
            "operations",
        ),
        "arrivals": Table(
            "late-arrivals",
            "Late ranks, and what they did before they arrived",
            _arrival_columns(phase_labels(document)),
            arrivals,
            MOST_ARRIVALS,
            "late arrivals",
        ),
        "used": [{"role": role, "label": label} for role, label, _ in used],
        "chart": draw(bars, "Seconds in communication by rank") if used else "",
        "ranks_per_bar": bars.ranks_per_bar,
        "table": rank_table(
            "communication-by-rank",
            "Seconds in communication",
            ranks,
            [ByRank(label, v, seconds) for _, label, v in used],
        ),
        "matched": count(number(communication.get("matched_calls"))),
        "unmatched": [
            (name, count(number(value)))
            for name, value in list(mapping(communication, "unmatched").items())[:MOST_OPERATIONS]
        ],
        "exchange": _exchange(mapping(communication, "gradient_exchange"), ranks),
        "takeaway": _takeaway(arrivals),
        **beside,
    }


def _exchange(found: Mapping[str, Any], ranks: list[int]) -> Context | None:
    """What is exposed of gradient exchanges inside the backward pass; None where there are none."""
    exposed = mapping(found, "exposed_s")
    parts = (
        ("Exposed", numbers(found, "exposed_s_by_rank")),
        ("Waiting", numbers(found, "wait_s_by_rank")),
        ("Transfer", numbers(found, "transfer_s_by_rank")),
    )
    if number(exposed.get("value")) is None:
        return {"reason": text(exposed, "reason")} if exposed else None
    return {
        "reason": "",
        "count": count(number(found.get("exchanges"))),
        "exposed": seconds(number(exposed.get("value"))),
        "table": rank_table(
            "gradient-exchange",
            "Median seconds per exchange",
            ranks,
            [ByRank(label, v, seconds) for label, v in parts if v],
        ),
    }


def _arrival_columns(labels: Mapping[str, str]) -> tuple[Column, ...]:
    return (
        Column("Late rank", rank_name, kind=Kind.TEXT),
        Column("Phase", lambda row: phase_words(text(row, "phase"), labels), kind=Kind.TEXT),
        Column("Function", place, kind=Kind.PLACE),
        Column("Called from", lambda row: place(mapping(row, "caller")), kind=Kind.PLACE),
        Column("Wait time caused", "waiting_s", seconds),
        Column("Delay of the job", "stall_s", seconds),
        Column("Occurrences", "instances", count),
    )


def _takeaway(arrivals: list[Mapping[str, Any]]) -> str:
    if not arrivals or number(arrivals[0].get("waiting_s")) is None:
        return ""
    first = arrivals[0]
    waiting = seconds(number(first.get("waiting_s")))
    waited = f"The others waited longest for {rank_name(first)}: {waiting} in all"
    late = place(first)
    if not late.function:
        return waited
    at = f" ({shortened(late.short_location, 60)})" if late.location else ""
    return f"{waited}, while it was in {shortened(late.function, 60)}{at}"


SECTION = Section("communication", "Communication", "communication.html", _context, is_folded=True)
