"""What the terminal prints of a history: each trend in a line, with its last change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfscope.report.access import number, rows, text
from perfscope.report.formats import quantity
from perfscope.report.studies.sections.history_trends import changes, losses
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
MOST_GROUPS = 4
MOST_LOSSES = 6


def _print(document: dict[str, Any], console: Console) -> None:
    found = rows(document, "history", "groups")
    for group in found[:MOST_GROUPS]:
        points = rows(group, "points")
        noun = "point" if len(points) == 1 else "points"
        console.print()
        line(console, f"{text(group, 'label')}: {len(points)} {noun}", style="bold")
        table = Table("trends", text(group, "label"), _columns(points), _known(group))
        print_table(table, console)
        if lost := losses(group):
            print_table(lost.first(MOST_LOSSES), console)
    if len(found) > MOST_GROUPS:
        line(console, f"{len(found) - MOST_GROUPS} more groups of runs are in study.json")
    for row in rows(document, "history", "unreadable"):
        line(console, f"Not read: {text(row, 'path')}: {text(row, 'reason')}")


def _known(group: Json) -> list[Json]:
    return [row for row in rows(group, "series") if rows(row, "segments")]


def _columns(points: list[Json]) -> tuple[Column, ...]:
    def last(row: Json) -> str:
        told = changes(row, points)
        return f"{told[-1]['change']} since {told[-1]['label']}" if told else "no change"

    return (
        Column("", "label", kind=Kind.TEXT),
        Column("level now", _level),
        Column("last change", last, kind=Kind.TEXT),
    )


def _level(row: Json) -> str:
    return quantity(number(rows(row, "segments")[-1].get("level")), text(row, "unit"))


TERMINAL = StudyTerminal("history", _print)
