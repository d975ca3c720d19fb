"""What the terminal prints of a history: each trend in a line, with its last change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.report.access import number, rows, text
from perfscope.report.formats import quantity
from perfscope.report.studies.sections.history_trends import changes
from perfscope.report.studies.terminal import StudyTerminal, table
from perfscope.report.terminal import line

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
MOST_GROUPS = 4


def _print(document: Json, console: Console) -> None:
    found = rows(document, "history", "groups")
    for group in found[:MOST_GROUPS]:
        points = rows(group, "points")
        noun = "point" if len(points) == 1 else "points"
        console.print()
        line(console, f"{text(group, 'label')}: {len(points)} {noun}", style="bold")
        cells = []
        for row in rows(group, "series"):
            segments = rows(row, "segments")
            if segments:
                level = quantity(number(segments[-1].get("level")), text(row, "unit"))
                told = changes(row, points)
                last = f"{told[-1]['change']} since {told[-1]['label']}" if told else "no change"
                cells.append([text(row, "label"), level, last])
        if cells:
            table(console, [["", "level now", "last change"], *cells])
    if len(found) > MOST_GROUPS:
        line(console, f"{len(found) - MOST_GROUPS} more groups of runs are in study.json")
    for row in rows(document, "history", "unreadable"):
        line(console, f"Not read: {text(row, 'path')}: {text(row, 'reason')}")


TERMINAL = StudyTerminal("history", _print)
