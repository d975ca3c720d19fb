"""What a sweep prints: every configuration, fastest first, and why the best wins."""

from collections.abc import Callable
from typing import Any

from rich.console import Console

from perfscope.report.formats import bytes_, decimal, ratio
from perfscope.report.studies.sections.sweep_speed import spread, swept
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.schema.study import Study
from perfscope.schema.sweep_result import ConfigurationResult, SweepResult

MOST_ROWS = 40
LONGEST_LABEL = 48


def _print(study: Study, console: Console) -> None:
    sweep = swept(study)
    objective = sweep.objective
    found = sorted(sweep.configurations, key=lambda row: -(row.speed or 0.0))
    order = "largest first" if sweep.best_reason else "fastest first"
    line(console, f"{objective.label} ({objective.unit}), {order}", style="bold")
    if objective.reason:
        line(console, f"Compared by {objective.unit}: {objective.reason}.", indent=2)
    if objective.caution:
        line(console, f"Careful: {objective.caution}.", indent=2)
    print_table(_table(sweep, [row for row in found if row.speed is not None]), console)
    for row in [row for row in found if row.speed is None][:MOST_ROWS]:
        word = "not run" if row.status in ("refused", "missing") else "failed"
        line(console, f"{_label(row)}: {word}, {row.reason}", indent=2)
    for explanation in sweep.why:
        console.print()
        line(console, f"Against {explanation.label or 'the command as it is'}:", style="bold")
        line(console, explanation.sentence, indent=2)
        for fact in explanation.facts:
            line(console, fact, indent=2)
    console.print()
    line(console, sweep.fabric.sentence)
    line(console, sweep.fabric.pinning)


def _table(sweep: SweepResult, measured: list[ConfigurationResult]) -> Table:
    quality = sweep.quality
    columns = (
        Column("configuration", _marked, kind=Kind.TEXT),
        Column(sweep.objective.unit, "speed", decimal),
        Column("interval", lambda row: spread(row.speed_interval, between="..") or None),
        *([Column(shortened(quality, 20), "quality", decimal)] if quality else []),
        Column("par.eff.", _factor("parallel_efficiency"), ratio),
        Column("CPUs busy", _factor("cpus_busy"), "{:.2f}".format),
        Column("peak memory", _factor("peak_bytes"), bytes_),
    )
    caption = "Every configuration that was measured"
    most, noun, file = MOST_ROWS, "configurations", "study.json"
    return Table("configurations", caption, columns, measured, most, noun, file=file)


def _marked(row: ConfigurationResult) -> str:
    mark = " *" if row.is_best else " ~" if row.may_be_best else ""
    return f"{_label(row)}{mark}"


def _factor(name: str) -> Callable[[ConfigurationResult], Any]:
    return lambda row: getattr(row.factors, name) if row.factors else None


def _label(row: ConfigurationResult) -> str:
    return shortened(row.title, LONGEST_LABEL)


TERMINAL = StudyTerminal("sweep", _print)
