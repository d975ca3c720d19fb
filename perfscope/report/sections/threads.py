"""Threads and CPU: what each rank ran, against the CPUs that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, number, rows, text
from perfscope.report.charts import Line, Plot, lines
from perfscope.report.formats import count, decimal, percent, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.memory import ABSENT, rank_lines
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import rank_list

MOST_NODES = 64
MOST_GROUPS = 40
CHARTS = (
    ("cpu_series", "CPUs busy", "How many CPUs each rank kept busy"),
    ("runnable_series", "runnable threads", "How many threads of each rank wanted to run"),
    ("threads_series", "threads", "How many threads each rank had"),
)


def _sharing(row: Mapping[str, Any]) -> str:
    shared = integers(row, "ranks_sharing_a_cpu")
    return rank_list(shared) if shared else "none"


NODES = (
    Column("Node", "host", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda row: rank_list(integers(row, "ranks")), kind=Kind.TEXT, longest=200),
    Column("CPUs", "cpus", decimal),
    Column("Runnable, mean", "runnable_mean", decimal),
    Column("Runnable, 95 % at most", "runnable_p95", decimal),
    Column("Ranks that share a CPU", _sharing, kind=Kind.TEXT, longest=200),
)
GROUPS = (
    Column("Group", "stem", kind=Kind.CODE, longest=40),
    Column("Rank", "rank", count),
    Column("Threads", "count", count),
    Column("CPU time", "cpu_s", seconds),
    Column("Runnable, mean", "runnable_mean", decimal),
)


def _context(document: Document) -> Context:
    ranks = rows(document, "threads", "ranks")
    numbers_ = [int(number(row.get("rank")) or 0) for row in ranks]

    def column(title: str, key: str, write: Any) -> ByRank:
        return ByRank(title, [number(row.get(key)) for row in ranks], write)

    columns = [
        column("Threads at most", "threads_max", count),
        column("Runnable threads, mean", "runnable_mean", decimal),
        column("Runnable threads, 95 % at most", "runnable_p95", decimal),
        column("CPUs it may use", "cpus_available", decimal),
        column("CPU time", "cpu_s", seconds),
        column("CPU use", "cpu_utilization", percent),
        column("Waiting for a CPU", "queue_delay_s", seconds),
        column("Switched away by force", "involuntary_switches", count),
    ]
    nodes = rows(document, "threads", "nodes")
    return {
        "absent": "" if ranks or nodes else text(document, "threads", "reason") or ABSENT,
        "charts": _charts(ranks),
        "table": rank_table("threads-by-rank", "Threads and CPU", numbers_, columns),
        "nodes": Table(
            "threads-nodes",
            "Runnable threads of each node against its CPUs",
            NODES,
            nodes,
            MOST_NODES,
            "nodes",
        ),
        "groups": Table(
            "thread-groups",
            "Groups of threads with the same name",
            GROUPS,
            [
                {**group, "rank": rank.get("rank")}
                for rank in ranks
                for group in rows(rank, "groups")
            ],
            MOST_GROUPS,
            "groups",
        ),
        "takeaway": _takeaway(nodes),
    }


def _charts(ranks: list[Mapping[str, Any]]) -> list[Context]:
    out = []
    for key, y_title, title in CHARTS:
        series: list[Line] = rank_lines(ranks, key)
        if series:
            plot = Plot(f"{title}, over time", y_title, height=180.0)
            out.append({"title": title, "svg": lines(plot, series)})
    return out


def _takeaway(nodes: list[Mapping[str, Any]]) -> str:
    loads = [
        (runnable / cpus, runnable, cpus)
        for row in nodes
        if (runnable := number(row.get("runnable_mean"))) is not None
        and (cpus := number(row.get("cpus")))
    ]
    if not loads:
        return ""
    _, runnable, cpus = max(loads)
    return f"On the busiest node {decimal(runnable)} threads wanted to run on {decimal(cpus)} CPUs"


SECTION = Section("threads", "Threads and CPU", "threads.html", _context, is_folded=True)
