"""Calls of the operating system's runtime (table `OSRT_API`): in which of them hosts were, by rank.

Nsight Systems takes calls that last longer than a microsecond; a call inside of another one has a
level of nesting above 0 and is part of that one's time.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.readers.nsys.events import SYSTEM_TABLE, Export
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolReport
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Trace
from perfscope.units import NS, format_seconds, format_share

NOTICEABLE_SHARE = 0.05
"""Of the time of a rank's main thread: what is less is told in the table alone."""
COLUMNS = {
    "Rank": Quantity.COUNT,
    "Call": Quantity.CODE,
    "Calls": Quantity.COUNT,
    "Main thread": Quantity.SECONDS,
    "Share of its time": Quantity.SHARE,
    "Other threads": Quantity.SECONDS,
    "Longest": Quantity.SECONDS,
}


@dataclass(frozen=True)
class SystemCall:
    """What one process spent in one call, in ns; of other threads the sum over all of them."""

    host: str
    pid: int
    name: str
    calls: int
    main_ns: int
    other_ns: int
    longest_ns: int


def system_calls(export: Export, pid: int) -> Iterator[SystemCall]:
    """What a process called."""
    for name, calls, main, other, longest in export.database.call_sums(SYSTEM_TABLE, pid):
        yield SystemCall(
            export.host, pid, export.text(name), int(calls), int(main), int(other), int(longest)
        )


def told(trace: Trace, found: Sequence[SystemCall], path: Path) -> list[ToolReport]:
    """A report of the calls of all ranks; none where the table is empty."""
    ranks = {(rank.host, rank.pid): rank for rank in trace.ranks}
    if not found or len(ranks) < len(trace.ranks):
        return []  # containers that number their processes alike
    rows: list[tuple[float, list[Cell]]] = []
    spent: dict[int, tuple[Rank, list[SystemCall]]] = {}
    for call in found:
        rank = ranks.get((call.host, call.pid))
        if rank is None:
            continue
        spent.setdefault(rank.number, (rank, []))[1].append(call)
        cells: list[Cell] = [
            rank.number,
            call.name,
            call.calls,
            call.main_ns * NS,
            _share(call.main_ns, rank),
            call.other_ns * NS,
            call.longest_ns * NS,
        ]
        rows.append((-float(call.main_ns), cells))
    rows.sort(key=lambda row: row[0])
    tables = [table("Calls of the operating system", COLUMNS, [cells for _, cells in rows])]
    return [report("Nsight Systems", path, _said(spent.values()), tables)] if rows else []


def _share(ns: int, rank: Rank) -> float | None:
    length = rank.end_ns - rank.start_ns
    return ns / length if length else None


def _said(spent: Iterable[tuple[Rank, Sequence[SystemCall]]]) -> list[str]:
    """Which rank's main thread was in such calls most, and in which, unless that is little."""
    said = []
    for rank, calls in spent:
        share = _share(sum(call.main_ns for call in calls), rank) or 0.0
        most = max(calls, key=lambda call: call.main_ns)
        text = (
            f"The main thread of rank {rank.number} was in calls of the operating system for "
            f"{format_share(share)} of its time, longest in {most.name} "
            f"({format_seconds(most.main_ns * NS)})."
        )
        said.append((share, text))
    share, text = max(said, key=lambda pair: pair[0])
    return [text] if share > NOTICEABLE_SHARE else []
