"""What a study prints: which runs, its own table, the findings, the verdict."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

from perfscope.registry import members
from perfscope.report.labels import status_word
from perfscope.report.sections.findings import FOLDED_TITLES
from perfscope.report.studies.recommended import recommended
from perfscope.report.table import Table
from perfscope.report.terminal import LONGEST_VERDICT, PLAIN, STATUS_STYLES, clean, line
from perfscope.report.text import shortened
from perfscope.schema.study import Study

LONGEST_TITLE = 40


@dataclass(frozen=True)
class StudyTerminal:
    """What one kind of study prints between its heading and its findings."""

    kind: str
    print_body: Callable[[Study, Console], None]


def print_study(study: Study, console: Console) -> None:
    """Prints a study; nothing that study.json does not hold."""
    found: list[StudyTerminal] = members("perfscope.report.studies.terminals", "TERMINAL")
    for terminal in found:
        if terminal.kind == study.kind:
            terminal.print_body(study, console)
    shown = [row for row in study.findings if row.status not in FOLDED_TITLES]
    for position, row in enumerate(shown, start=1):
        console.print()
        status = row.status.value
        told = f"{position}. {status_word(status).word}: {clean(row.title)}"
        line(console, told, style=STATUS_STYLES.get(status, ""))
        line(console, row.summary, indent=3)
        if row.actions:
            line(console, f"First: {clean(row.actions[0])}", indent=3)
    console.print()
    style = STATUS_STYLES.get(study.verdict.status, "")
    line(console, f"Verdict: {study.verdict.sentence}", style=style, longest=LONGEST_VERDICT)
    for sentence in recommended(study):
        line(console, sentence, style=style, longest=LONGEST_VERDICT)


def print_table(table: Table, console: Console, *, indent: int = 2) -> None:
    """Prints a table in columns: texts to the left, numbers to the right.

    Columns that do not fit are left out from the right, and counted; so are rows beyond `most`.
    """
    if not table:
        return
    head = [shortened(column.title, LONGEST_TITLE) for column in table.columns]
    cells = [
        [clean(text).translate(PLAIN) for text in row]
        for row in (head, *([cell.told for cell in row] for row in table.cells))
    ]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    fitting, used = 0, indent
    for width in widths:
        used += width + 2
        if used > console.width + 2 and fitting >= 2:
            break
        fitting += 1
    for row in cells:
        put = [
            row[n].rjust(widths[n]) if column.is_number else row[n].ljust(widths[n])
            for n, column in enumerate(table.columns[:fitting])
        ]
        shown = " " * indent + "  ".join(put).rstrip()
        console.print(shown, highlight=False, markup=False, no_wrap=True, overflow="crop")
    for count, noun in ((len(widths) - fitting, "columns"), (table.left_out, table.noun)):
        if count:
            line(console, f"{count:,} more {noun} are in {table.file}", indent=indent)
