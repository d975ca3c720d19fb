"""What a study prints: which runs, its own table, the findings, the verdict."""

from collections.abc import Callable, Sequence

from rich.console import Console

from perfscope.registry import members
from perfscope.report.labels import status_word
from perfscope.report.sections.findings import FOLDED_TITLES
from perfscope.report.studies.recommended import recommended
from perfscope.report.table import Table
from perfscope.report.terminal import LONGEST_VERDICT, PLAIN, STATUS_STYLES, clean, line
from perfscope.report.text import shortened
from perfscope.schema.study import Study
from perfscope.structures import dataclass

LONGEST_TITLE = 40
INDENT = 2


@dataclass(frozen=True)
class StudyTerminal:
    """What one kind of study prints between its heading and its findings."""

    kind: str
    print_body: Callable[[Study, Console], None]


def print_study(study: Study, console: Console) -> None:
    """Prints a study, its answer first; nothing that study.json does not hold."""
    _print_answer(study, console)
    found: list[StudyTerminal] = members("perfscope.report.studies.terminals", "TERMINAL")
    for terminal in found:
        if terminal.kind == study.kind:
            console.print()
            terminal.print_body(study, console)


def _print_answer(study: Study, console: Console) -> None:
    """The verdict, what is recommended, and the findings."""
    style = STATUS_STYLES.get(study.verdict.status, "")
    line(console, f"Verdict: {study.verdict.sentence}", style=style, longest=LONGEST_VERDICT)
    for sentence in recommended(study):
        line(console, sentence, style=style, longest=LONGEST_VERDICT)
    shown = [row for row in study.findings if row.status not in FOLDED_TITLES]
    for position, row in enumerate(shown, start=1):
        console.print()
        status = row.status.value
        told = f"{position}. {status_word(status).word}: {clean(row.title)}"
        line(console, told, style=STATUS_STYLES.get(status, ""))
        line(console, row.summary, indent=3)
        if row.actions:
            line(console, f"First action: {clean(row.actions[0])}", indent=3)


def print_table(table: Table, console: Console) -> None:
    """Prints a table in columns: texts to the left, numbers to the right.

    Columns that do not fit follow below, behind the first one again; where not even two fit, each
    row is told in lines. Rows beyond `most` are counted.
    """
    if not table:
        return
    head = [shortened(column.title, LONGEST_TITLE) for column in table.columns]
    cells = [
        [clean(text).translate(PLAIN) for text in row]
        for row in (head, *([cell.told for cell in row] for row in table.cells))
    ]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    room = console.width - INDENT
    if len(head) > 1 and widths[0] + 2 + max(widths[1:]) > room:
        _print_rows(cells, console)
        blocks = []
    else:
        blocks = _blocks(widths, room)
    for place, columns in enumerate(blocks):
        if place:
            console.print()
        for row in cells:
            put = [
                row[n].rjust(widths[n]) if table.columns[n].is_number else row[n].ljust(widths[n])
                for n in columns
            ]
            shown = " " * INDENT + "  ".join(put).rstrip()
            console.print(shown, highlight=False, markup=False, no_wrap=True, overflow="crop")
    if table.left_out:
        line(console, f"{table.left_out:,} more {table.noun} are in {table.file}", indent=INDENT)


def _print_rows(cells: Sequence[Sequence[str]], console: Console) -> None:
    """A table on a line that is too narrow for it: a row by its heading, and each value below."""
    titles, *rows = cells
    for heading, *values in rows:
        line(console, heading.strip(), indent=INDENT)
        for title, value in zip(titles[1:], values, strict=True):
            line(console, f"{title}: {value}", indent=2 * INDENT)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns that stand beside each other: the first one in every block, then what fits."""
    found: list[list[int]] = []
    used = 0
    for column in range(1, len(widths)):
        used += widths[column] + 2
        if not found or used > room:
            found.append([0])
            used = widths[0] + widths[column] + 2
        found[-1].append(column)
    return found or [[0]]
