"""What a sweep prints: every configuration, fastest first, and why the best wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perfscope.report.formats import bytes_, decimal, ratio
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line
from perfscope.report.text import shortened

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
MOST_ROWS = 40
LONGEST_LABEL = 48


def _print(document: Json, console: Console) -> None:
    sweep = document["sweep"]
    found = sorted(sweep["configurations"], key=lambda row: -(row["speed"] or 0.0))
    measured = [row for row in found if row["speed"] is not None]
    rest = [row for row in found if row["speed"] is None]
    objective = sweep["objective"]
    order = "largest first" if sweep["best_reason"] else "fastest first"
    line(console, f"{objective['label']} ({objective['unit']}), {order}", style="bold")
    if objective["reason"]:
        line(console, f"Compared by {objective['unit']}: {objective['reason']}.", indent=2)
    if objective["caution"]:
        line(console, f"Careful: {objective['caution']}.", indent=2)
    print_table(_table(sweep, measured), console)
    for row in rest[:MOST_ROWS]:
        word = "not run" if row["status"] in ("refused", "missing") else "failed"
        line(console, f"{_label(row)}: {word}, {row['reason']}", indent=2)
    for explanation in sweep["why"]:
        console.print()
        line(console, f"Against {explanation['label'] or 'the command as it is'}:", style="bold")
        line(console, explanation["sentence"], indent=2)
        for fact in explanation["facts"]:
            line(console, fact, indent=2)
    console.print()
    line(console, sweep["fabric"]["sentence"])
    line(console, sweep["fabric"]["pinning"])


def _table(sweep: Json, measured: list[Json]) -> Table:
    quality = sweep["quality"]
    columns = (
        Column("configuration", _marked, kind=Kind.TEXT),
        Column(sweep["objective"]["unit"], "speed", decimal),
        Column("spread", _spread),
        *([Column(shortened(quality, 20), "quality", decimal)] if quality else []),
        Column("par.eff.", _factor("parallel_efficiency"), ratio),
        Column("CPUs busy", _factor("cpus_busy"), "{:.2f}".format),
        Column("peak memory", _factor("peak_bytes"), bytes_),
    )
    caption = "Every configuration that was measured"
    most, noun, file = MOST_ROWS, "configurations", "study.json"
    return Table("configurations", caption, columns, measured, most, noun, file=file)


def _marked(row: Json) -> str:
    mark = " *" if row["is_best"] else " ~" if row["may_be_best"] else ""
    return f"{_label(row)}{mark}"


def _spread(row: Json) -> str | None:
    ends = row["speed_interval"]
    return f"{decimal(ends[0])}..{decimal(ends[1])}" if ends else None


def _factor(name: str) -> Callable[[Json], Any]:
    return lambda row: (row["factors"] or {}).get(name)


def _label(row: Json) -> str:
    label: str = row["label"] or "the command as it is"
    return shortened(label, LONGEST_LABEL)


TERMINAL = StudyTerminal("sweep", _print)
