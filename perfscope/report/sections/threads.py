"""Threads and CPU: what each rank ran, against the CPUs that it may use."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from perfscope.report.charts import Plot, lines
from perfscope.report.formats import count, decimal, percent, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.memory import ABSENT, rank_lines
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import rank_list
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Series
from perfscope.schema.resources import ThreadsOfNode, ThreadsOfRank

MOST_NODES = 64
MOST_GROUPS = 40
CHARTS: tuple[tuple[Callable[[ThreadsOfRank], Series], str, str], ...] = (
    (attrgetter("cpu_series"), "CPUs busy", "How many CPUs each rank kept busy"),
    (attrgetter("runnable_series"), "runnable threads", "Runnable threads of each rank"),
    (attrgetter("threads_series"), "threads", "How many threads each rank had"),
)


def _sharing(node: ThreadsOfNode) -> str:
    return rank_list(node.ranks_sharing_a_cpu) if node.ranks_sharing_a_cpu else "none"


NODES = (
    Column("Node", "host", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda node: rank_list(node.ranks), kind=Kind.TEXT, longest=200),
    Column("CPUs", "cpus", decimal),
    Column("Runnable threads, mean", "runnable_mean", decimal),
    Column("95th percentile", "runnable_p95", decimal),
    Column("Ranks that share a CPU", _sharing, kind=Kind.TEXT, longest=200),
)
GROUPS = (
    Column("Group", lambda row: row[1].stem, kind=Kind.CODE, longest=40),
    Column("Rank", lambda row: row[0].rank, count),
    Column("Threads", lambda row: row[1].count, count),
    Column("CPU time", lambda row: row[1].cpu_s, seconds),
    Column("Runnable threads, mean", lambda row: row[1].runnable_mean, decimal),
)


def _context(result: Analysis) -> Context:
    found = result.threads
    groups = [(rank, group) for rank in found.ranks for group in rank.groups]
    return {
        "absent": "" if found.ranks or found.nodes else found.reason or ABSENT,
        "charts": _charts(found.ranks),
        "table": _by_rank(found.ranks),
        "nodes": Table(
            "threads-nodes",
            "Runnable threads of each node against its CPUs",
            NODES,
            found.nodes,
            MOST_NODES,
            "nodes",
        ),
        "groups": Table(
            "thread-groups",
            "Groups of threads with the same name",
            GROUPS,
            groups,
            MOST_GROUPS,
            "groups",
        ),
        "takeaway": _takeaway(found.nodes),
    }


def _by_rank(ranks: Sequence[ThreadsOfRank]) -> Table:
    columns = [
        ByRank("Threads at most", [one.threads_max for one in ranks], count),
        ByRank("Runnable threads, mean", [one.runnable_mean for one in ranks], decimal),
        ByRank("Runnable threads, 95th percentile", [one.runnable_p95 for one in ranks], decimal),
        ByRank("CPUs it may use", [one.cpus_available for one in ranks], decimal),
        ByRank("CPU time", [one.cpu_s for one in ranks], seconds),
        ByRank("CPU use", [one.cpu_utilization for one in ranks], percent),
        ByRank("Run-queue wait", [one.queue_delay_s for one in ranks], seconds),
        ByRank("Involuntary context switches", [one.involuntary_switches for one in ranks], count),
    ]
    return rank_table("threads-by-rank", "Threads and CPU", [one.rank for one in ranks], columns)


def _charts(ranks: Sequence[ThreadsOfRank]) -> list[Context]:
    out = []
    for get, y_title, title in CHARTS:
        if series := rank_lines((one.rank, get(one)) for one in ranks):
            plot = Plot(f"{title}, over time", y_title, height=180.0)
            out.append({"title": title, "svg": lines(plot, series)})
    return out


def _takeaway(nodes: Sequence[ThreadsOfNode]) -> str:
    known = [(node.runnable_mean, node) for node in nodes if node.runnable_mean is not None]
    loads = [(mean / node.cpus, mean, node.cpus) for mean, node in known if node.cpus]
    if not loads:
        return ""
    _, runnable, cpus = max(loads)
    threads, on = decimal(runnable), decimal(cpus)
    return (
        f"Busiest node: {threads} runnable {'thread' if threads == '1' else 'threads'} on {on} "
        f"{'CPU' if on == '1' else 'CPUs'}"
    )


SECTION = Section("threads", "Threads and CPU", "threads.html", _context, is_folded=True)
