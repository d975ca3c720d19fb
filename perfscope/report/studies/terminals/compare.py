"""What the terminal prints of a comparison: differences first, then numbers, time and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.report.access import number, rows, text
from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.studies.terminal import StudyTerminal, table
from perfscope.report.terminal import line
from perfscope.report.text import shortened

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
MOST_DIFFERENCES = 12
LONGEST = 40
LONGEST_VALUE = 120


def _print(document: Json, console: Console) -> None:
    sides = [_short(label) for label in compare_answer.side_labels(document)]
    _print_differences(document, console, sides)
    _print_measures(document, console, sides)
    _print_efficiencies(document, console, sides)
    _print_waterfall(document, console)
    _print_findings(document, console)


def _print_differences(document: Json, console: Console, sides: list[str]) -> None:
    found = compare_differences.SECTION.context(document)
    console.print()
    if not found["rows"]:
        line(console, "Nothing else that is recorded differs between the sides.")
        return
    line(console, "What else differs", style="bold")
    shown = found["rows"][:MOST_DIFFERENCES]
    for row in shown:
        line(console, f"{row['kind']}: {row['name']}", indent=2)
        for side, value in zip(sides, row["values"], strict=False):
            line(console, f"{side}: {shortened(value, LONGEST_VALUE) or 'not set'}", indent=6)
    left = len(found["rows"]) - len(shown) + found["left_out"]
    if left:
        line(console, f"{left} more differences are in study.json", indent=2)
    if found["varies"]:
        names = ", ".join(found["varies"][:6])
        line(console, f"The runs of one side differ among themselves in: {names}", indent=2)


def _print_measures(document: Json, console: Console, sides: list[str]) -> None:
    found = compare_answer.SECTION.context(document)
    console.print()
    line(console, "What was measured (medians of the runs)", style="bold")
    known = [row for row in found["measures"] if not row["reason"]]
    cells = [
        [
            row["label"],
            *(value for value, _ in row["cells"]),
            *(f"{value} ({spread})" if spread else value for value, spread in row["changes"]),
        ]
        for row in known
    ]
    table(console, [["", *sides, *(_short(title) for title in found["changes"])], *cells])
    line(console, f"Judged by the {found['unit']}: {found['why']}", indent=2)
    for reason in found["left_out"]:
        line(console, f"Not counted: {reason}", indent=2)
    for answer in found["answers"]:
        if answer["within"]:
            line(
                console,
                f"Of the two runs of {answer['side']} and {answer['against']} alone: median step "
                f"{answer['within_ratio']}, {answer['within']}; nothing of the noise between runs",
                indent=2,
            )


def _print_efficiencies(document: Json, console: Console, sides: list[str]) -> None:
    cells = []
    for row in rows(document, "compare", "efficiencies"):
        values = [number(side.get("value")) for side in rows(row, "sides")]
        if any(value is not None for value in values):
            change = number(row.get("change"))
            indent = "  " * int(number(row.get("depth")) or 0)
            cells.append(
                [
                    indent + text(row, "id").replace("_", " "),
                    *("-" if value is None else f"{value:.3f}" for value in values),
                    "-" if change is None else f"{change:+.3f}",
                ]
            )
    if cells:
        console.print()
        line(console, "Efficiency", style="bold")
        table(console, [["", *sides, "Change"], *cells])


def _print_waterfall(document: Json, console: Console) -> None:
    found = compare_waterfall.tables(document)
    for step in found["steps"]:
        console.print()
        line(
            console,
            f"Where the time went, seconds of {found['unit']}: {step['from']} to {step['to']}",
            style="bold",
        )
        cells = [list(row) for row in step["rows"]]
        table(console, [["", _short(step["from"]), _short(step["to"]), "Change", ""], *cells])


def _print_findings(document: Json, console: Console) -> None:
    found = compare_findings.SECTION.context(document)
    if found["rows"]:
        console.print()
        line(console, "Findings", style="bold")
    for row in found["rows"]:
        line(console, f"{row['word'].word}: {row['title']}", indent=2)
    for promise in found["promises"]:
        if not promise["predicted"]:
            continue
        error = f", off by {promise['error']}" if promise["error"] else ""
        line(
            console,
            f"Predicted for what is gone: {promise['predicted']}; obtained by {promise['side']}: "
            f"{promise['obtained']}{error}",
            indent=2,
        )


def _short(label: str) -> str:
    return shortened(label, LONGEST)


TERMINAL = StudyTerminal("compare", _print)
