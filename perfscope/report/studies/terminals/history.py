"""What the terminal prints of a history: each trend in a line, with its last change."""

from rich.console import Console

from perfscope.report.formats import quantity
from perfscope.report.studies.sections.compare_answer import change
from perfscope.report.studies.sections.history_trends import losses, trends
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line
from perfscope.schema.history import HistoryGroup, Trend
from perfscope.schema.study import Study
from perfscope.units import counted

MOST_GROUPS = 4
MOST_LOSSES = 6


def _print(study: Study, console: Console) -> None:
    found = trends(study)
    for group in found.groups[:MOST_GROUPS]:
        console.print()
        line(console, f"{group.label}: {counted(len(group.points), 'point')}", style="bold")
        held = [row for row in group.series if row.segments]
        print_table(Table("trends", group.label, _columns(group), held), console)
        if lost := losses(group):
            print_table(lost.first(MOST_LOSSES), console)
    if len(found.groups) > MOST_GROUPS:
        line(console, f"{len(found.groups) - MOST_GROUPS} more groups of runs are in study.json")
    for one in found.unreadable:
        line(console, f"Not read: {one.path}: {one.reason}")


def _columns(group: HistoryGroup) -> tuple[Column, ...]:
    def last(row: Trend) -> str:
        if not row.changes:
            return "no change"
        one = row.changes[-1]
        return f"{change(one.ratio)} since {group.points[one.at].label}"

    return (
        Column("", "label", kind=Kind.TEXT),
        Column("level now", lambda row: quantity(row.segments[-1].level, row.unit)),
        Column("last change", last, kind=Kind.TEXT),
    )


TERMINAL = StudyTerminal("history", _print)
