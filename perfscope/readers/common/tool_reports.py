"""Files that tell figures of their own and no intervals: a report and hardly any trace."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perfscope.readers.common.blocks import as_text
from perfscope.schema.enums import EndKind, Quantity
from perfscope.schema.other_tools import Cell, ToolColumn, ToolReport, ToolTable
from perfscope.trace.model import Communicator, Ending, Format, Rank, Trace

MOST_ROWS = 1000
MOST_RANKS = 1 << 16
LONGEST_TEXT = 300
PARTS = ("communication", "messages", "memory", "threads", "io", "devices", "environment", "steps")


def not_told_of_memory(tool: str) -> dict[str, str]:
    """Why a tool that watches the memory of a process tells nothing else, by part."""
    return {
        **dict.fromkeys(
            ("communication", "messages"), f"{tool} watches one process and no communication"
        ),
        "threads": f"{tool} does not count threads",
        "io": f"{tool} does not count bytes of files",
        "devices": f"{tool} does not see devices",
        "environment": f"{tool} does not keep the environment",
        "steps": f"{tool} does not know steps",
    }


def table(title: str, columns: Mapping[str, Quantity], rows: Iterable[Sequence[Cell]]) -> ToolTable:
    """A table of another tool's figures, of which the first rows are kept.

    Rows come most important first; texts are cut where they are very long.
    """
    found = [tuple(map(_cell, row)) for row in rows]
    heads = tuple(ToolColumn(name, quantity) for name, quantity in columns.items())
    return ToolTable(title, heads, tuple(found[:MOST_ROWS]), max(0, len(found) - MOST_ROWS))


def _cell(value: Cell) -> Cell:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def report(
    tool: str, path: Path, says: Iterable[str], tables: Iterable[ToolTable] = ()
) -> ToolReport:
    """What a file says; tables without rows are left out."""
    filled = tuple(one for one in tables if one.rows)
    return ToolReport(tool, as_text(path), tuple(says), filled)


def reporting_trace(  # noqa: PLR0913 - what little is known of the run, each by its name
    path: Path,
    form: Format,
    told: ToolReport,
    *,
    why: str,
    ranks: Sequence[int] = (0,),
    world_size: int = 0,
    wall_ns: int = 0,
    origin_unix_ns: int = 0,
    notes: Sequence[str] = (),
) -> Trace:
    """A run of which nothing is known but a report: every other figure is null, with the reason.

    `why` is that reason; `wall_ns` and `origin_unix_ns` are 0 where they are not known.
    """
    ending = Ending(EndKind.EXITED, source="the end of the file; how the rank ended is not known")
    numbers = sorted(set(ranks))[:MOST_RANKS] or [0]
    size = max(numbers[-1] + 1, min(world_size, MOST_RANKS))
    return Trace(
        origin_unix_ns=origin_unix_ns,
        wall_ns=wall_ns,
        world_size=size,
        ranks=[Rank(number, "", 0, 0, 0, 0, ending) for number in numbers],
        communicators=[Communicator(0, tuple(range(size)), -1)],
        notes=list(notes),
        source=as_text(path),
        format=form,
        not_recorded=dict.fromkeys(PARTS, why),
        tool_reports=[told],
    )
