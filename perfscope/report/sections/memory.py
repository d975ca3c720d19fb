"""Memory: what each rank held over time, and how much its node had left."""

from collections.abc import Iterable, Sequence

from perfscope.report.charts import MOST_LINES, Line, Plot, lines
from perfscope.report.formats import byte_scale, bytes_, bytes_rate, count, seconds
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Place, place_of, rank_list
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Series
from perfscope.schema.resources import MemoryLine, MemoryLinesOfRank, MemoryOfRank

MOST_NODES = 64
NODES = (
    Column("Node", "host", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda node: rank_list(node.ranks), kind=Kind.TEXT, longest=200),
    Column("In all", "total_bytes", bytes_),
    Column("Least available", "least_available_bytes", bytes_),
    Column("Processes killed for memory", "oom_kills", count),
)


def _allocator(row: MemoryLine) -> Place | None:
    return place_of(row.allocator) if row.allocator and row.allocator.file else None


LINES = (
    Column("Line", place_of, kind=Kind.PLACE),
    Column("Kept", "kept_bytes", bytes_),
    Column("Allocations", "count", count),
    Column("Allocated in", _allocator, kind=Kind.PLACE, absent="the line itself"),
)
GROWTH = (LINES[0], Column("Grown by", "kept_bytes", bytes_), Column("Times", "count", count))
ABSENT = "the sampler was off (--sample-hz 0) or the run was shorter than one sample"


def rank_lines(found: Iterable[tuple[int, Series]]) -> list[Line]:
    """One line for each rank that has at least two points."""
    return [
        Line(f"rank {rank}", series.seconds, series.values)
        for rank, series in found
        if len(series.seconds) == len(series.values) > 1
    ]


def _context(result: Analysis) -> Context:
    found = result.memory
    series = rank_lines((one.rank, one.series) for one in found.ranks)
    plot = Plot(
        "Resident memory of each rank over time",
        "resident memory",
        byte_scale(max((y for line in series for y in line.y), default=0.0)),
    )
    watched = [_watched(place, one) for place, one in enumerate(found.lines.ranks, start=1)]
    is_known = found.ranks or found.nodes or watched
    return {
        "absent": "" if is_known else found.reason or ABSENT,
        "chart": lines(plot, series) if series else "",
        "is_banded": len(series) > MOST_LINES,
        "takeaway": _takeaway(found.ranks),
        "table": _by_rank(found.ranks),
        "nodes": Table(
            "memory-nodes", "Memory of each node", NODES, found.nodes, MOST_NODES, "nodes"
        ),
        "watched": watched,
        "lines_reason": found.lines.reason,
    }


def _by_rank(ranks: Sequence[MemoryOfRank]) -> Table:
    columns = [
        ByRank("Peak", [one.peak_bytes for one in ranks], bytes_),
        ByRank("Early", [one.start_bytes for one in ranks], bytes_),
        ByRank("Late", [one.end_bytes for one in ranks], bytes_),
        ByRank("Growth in the second half", [one.slope_bytes_per_s for one in ranks], bytes_rate),
        ByRank("Proportional, with descendants", [one.tree_bytes for one in ranks], bytes_),
        ByRank("Limit", [one.limit_bytes for one in ranks], bytes_),
    ]
    return rank_table("memory-by-rank", "Resident memory", [one.rank for one in ranks], columns)


def _watched(position: int, found: MemoryLinesOfRank) -> Context:
    """The lines of one rank that kept memory, or at which its process grew."""
    start, end = found.window_s
    begin = seconds(start) if end > start else ""
    what = "Growth of the process of" if found.is_growth else "Allocated and not freed on"
    caption = (
        f"{what} rank {found.rank} in {seconds(end - start)}, from {begin} on: "
        f"{bytes_(found.kept_bytes)} in all"
    )
    columns = GROWTH if found.is_growth else LINES
    return {
        "rank": f"rank {found.rank}",
        "engine": found.engine,
        "reason": found.reason,
        "is_whole_life": found.is_whole_life,
        "lines": Table(f"memory-lines-{position}", caption, columns, found.lines),
    }


def _takeaway(ranks: Sequence[MemoryOfRank]) -> str:
    if not ranks:
        return ""
    most = max(ranks, key=lambda one: one.peak_bytes)
    return f"The largest peak is {bytes_(most.peak_bytes)}, on rank {most.rank}"


SECTION = Section("memory", "Memory", "memory.html", _context, is_folded=True)
