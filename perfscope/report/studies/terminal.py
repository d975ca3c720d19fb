"""What a study prints: which runs, its own table, the findings, the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfscope.registry import members
from perfscope.report.labels import status_word
from perfscope.report.terminal import LONGEST_VERDICT, PLAIN, STATUS_STYLES, clean, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

Json = dict[str, Any]
SHOWN = ("fail", "warn", "info")


@dataclass(frozen=True)
class StudyTerminal:
    """What one kind of study prints between its heading and its findings."""

    kind: str
    print_body: Callable[[Json, Console], None]


def print_study(document: Json, console: Console) -> None:
    """Prints a study; only what its document holds."""
    found: list[StudyTerminal] = members("perfscope.report.studies.terminals", "TERMINAL")
    for terminal in found:
        if terminal.kind == document["kind"]:
            terminal.print_body(document, console)
    shown = [row for row in document["findings"] if row["status"] in SHOWN]
    for position, row in enumerate(shown, start=1):
        console.print()
        style = STATUS_STYLES.get(row["status"], "")
        line(
            console,
            f"{position}. {status_word(row['status']).word}: {clean(row['title'])}",
            style=style,
        )
        line(console, row["summary"], indent=3)
        if row["actions"]:
            line(console, f"First: {clean(row['actions'][0])}", indent=3)
    console.print()
    verdict = document["verdict"]
    style = STATUS_STYLES.get(verdict["status"], "")
    line(console, f"Verdict: {verdict['sentence']}", style=style, longest=LONGEST_VERDICT)


def table(console: Console, rows: Sequence[Sequence[str]], *, indent: int = 2) -> None:
    """Prints rows of cells in columns: the first to the left, the others to the right.

    The first row is the head. Columns that do not fit are left out from the right, and counted.
    """
    cells = [[clean(cell).translate(PLAIN) for cell in row] for row in rows]
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    fitting, used = 0, indent
    for width in widths:
        used += width + 2
        if used > console.width + 2 and fitting >= 2:
            break
        fitting += 1
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = [row[n].rjust(widths[n]) for n in range(1, fitting)]
        shown = " " * indent + "  ".join((first, *rest)).rstrip()
        console.print(shown, highlight=False, markup=False, no_wrap=True, overflow="crop")
    if fitting < len(widths):
        line(console, f"{len(widths) - fitting} more columns are in study.json", indent=indent)
