"""What a sweep prints: every configuration, fastest first, and why the best wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.report.studies.terminal import StudyTerminal, table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.units import MISSING, format_bytes, format_ratio

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
MOST_ROWS = 40
LONGEST_LABEL = 48
LONGEST_REASON = 60


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
    if measured:
        table(console, _rows(sweep, measured[:MOST_ROWS]))
    if len(measured) > MOST_ROWS:
        line(
            console, f"{len(measured) - MOST_ROWS} more configurations are in study.json", indent=2
        )
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


def _rows(sweep: Json, measured: list[Json]) -> list[list[str]]:
    quality = sweep["quality"]
    head = ["configuration", sweep["objective"]["unit"], "spread"]
    head += [shortened(quality, 20)] if quality else []
    head += ["par.eff.", "CPUs busy", "peak memory"]
    return [head, *(_row(row, has_quality=bool(quality)) for row in measured)]


def _row(row: Json, *, has_quality: bool) -> list[str]:
    mark = " *" if row["is_best"] else " ~" if row["may_be_best"] else ""
    spread = row["speed_interval"]
    factors = row["factors"] or {}
    busy = factors.get("cpus_busy")
    cells = [
        f"{_label(row)}{mark}",
        _number(row["speed"]),
        f"{_number(spread[0])}..{_number(spread[1])}" if spread else MISSING,
    ]
    cells += [_number(row["quality"])] if has_quality else []
    return [
        *cells,
        format_ratio(factors.get("parallel_efficiency")),
        MISSING if busy is None else f"{busy:.2f}",
        format_bytes(factors.get("peak_bytes")),
    ]


def _label(row: Json) -> str:
    label: str = row["label"] or "the command as it is"
    return shortened(label, LONGEST_LABEL)


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


TERMINAL = StudyTerminal("sweep", _print)
