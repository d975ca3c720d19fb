"""What the terminal prints of a comparison: differences first, then numbers, time and findings."""

from rich.console import Console

from perfscope.report.studies.recommended import recommended
from perfscope.report.studies.sections import (
    compare_answer,
    compare_differences,
    compare_efficiency,
    compare_findings,
    compare_waterfall,
)
from perfscope.report.studies.sections.compare_answer import change, compared, interval
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.schema.study import Study
from perfscope.units import counted

MOST_DIFFERENCES = 12
LONGEST = 40


def _print(study: Study, console: Console) -> None:
    _print_differences(study, console)
    _print_measures(study, console)
    _print_efficiencies(study, console)
    _print_waterfall(study, console)
    _print_findings(study, console)


def _print_differences(study: Study, console: Console) -> None:
    found = compared(study)
    table = compare_differences.differences(found).first(MOST_DIFFERENCES)
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
    if varying := compare_differences.varying(found):
        names = ", ".join(varying[:6])
        line(console, f"The runs of one side differ among themselves in: {names}", indent=2)


def _print_measures(study: Study, console: Console) -> None:
    found = compared(study)
    console.print()
    line(console, "What was measured", style="bold")
    print_table(compare_answer.measures(found), console)
    line(console, f"Judged by the {found.unit.label}: {found.unit.why}", indent=2)
    for reason in compare_answer.left_out(study):
        line(console, f"Not counted: {reason}", indent=2)
    for row in found.comparisons:
        if (within := row.within_runs) and within.interval:
            line(
                console,
                f"Of the two runs of {row.side} and {row.against} alone: median step "
                f"{change(within.ratio)}, {interval(within.interval)}; nothing of the noise "
                "between runs",
                indent=2,
            )


def _print_efficiencies(study: Study, console: Console) -> None:
    table = compare_efficiency.efficiencies(compared(study))
    if table:
        console.print()
        line(console, "Efficiency", style="bold")
        print_table(table, console)


def _print_waterfall(study: Study, console: Console) -> None:
    found = compared(study)
    for title, steps in (
        ("Where the time went", compare_waterfall.spent(found)),
        ("What it was lost to", compare_waterfall.lost(found)),
    ):
        for step in steps:
            unit = compare_waterfall.unit_of(found)
            console.print()
            line(console, f"{title}, seconds {unit}: {step.start} to {step.end}", style="bold")
            print_table(step.table, console)


def _print_findings(study: Study, console: Console) -> None:
    found = compared(study)
    changes = compare_findings.changes(found)
    if changes:
        console.print()
        line(console, "Findings", style="bold")
    for title, word, *_ in changes.cells:
        line(console, f"{word.text}: {title.text}", indent=2)
    for sentence in compare_findings.predictions(found):
        if sentence not in recommended(study):  # said above
            line(console, sentence, indent=2)


def _short(label: str) -> str:
    return shortened(label, LONGEST)


TERMINAL = StudyTerminal("compare", _print)
