"""What the terminal prints of a comparison: differences first, then numbers, time and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_efficiency,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.units import counted

if TYPE_CHECKING:
    from rich.console import Console

    from perfscope.schema.study import Study

MOST_DIFFERENCES = 12
LONGEST = 40


def _print(study: Study, console: Console) -> None:
    _print_differences(study, console)
    _print_measures(study, console)
    _print_efficiencies(study, console)
    _print_waterfall(study, console)
    _print_findings(study, console)


def _print_differences(study: Study, console: Console) -> None:
    found = compare_differences.SECTION.context(study)
    table = found["table"].first(MOST_DIFFERENCES)
    console.print()
    if not table:
        line(console, "Nothing else that is recorded differs between the sides.")
        return
    line(console, "What else differs", style="bold")
    for name, kind, *values in table.cells:
        line(console, f"{kind.told}: {name.told}", indent=2)
        for value in values:
            line(console, f"{_short(value.column.title)}: {value.told}", indent=6)
    if table.left_out:
        more = counted(table.left_out, "more difference")
        line(console, f"In study.json: {more}", indent=2)
    if found["varies"]:
        names = ", ".join(found["varies"][:6])
        line(console, f"The runs of one side differ among themselves in: {names}", indent=2)


def _print_measures(study: Study, console: Console) -> None:
    found = compare_answer.SECTION.context(study)
    console.print()
    line(console, "What was measured (medians of the runs)", style="bold")
    print_table(found["measures"], console)
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


def _print_efficiencies(study: Study, console: Console) -> None:
    table = compare_efficiency.SECTION.context(study)["table"]
    if table:
        console.print()
        line(console, "Efficiency", style="bold")
        print_table(table, console)


def _print_waterfall(study: Study, console: Console) -> None:
    found = compare_waterfall.tables(study)
    for title, steps in (
        ("Where the time went", found["steps"]),
        ("What it was lost to", found["losses"]),
    ):
        for step in steps:
            told = f"{title}, seconds of {found['unit']}: {step['from']} to {step['to']}"
            console.print()
            line(console, told, style="bold")
            print_table(step["table"], console)


def _print_findings(study: Study, console: Console) -> None:
    found = compare_findings.SECTION.context(study)
    if found["changes"]:
        console.print()
        line(console, "Findings", style="bold")
    for title, change, *_ in found["changes"].cells:
        line(console, f"{change.text}: {title.text}", indent=2)
    for promise in found["promises"]:
        if promise["sentence"]:
            line(console, promise["sentence"], indent=2)


def _short(label: str) -> str:
    return shortened(label, LONGEST)


TERMINAL = StudyTerminal("compare", _print)
