"""`perfscope doctor`: what works on this machine, and the exact fix for what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfscope.cli.options import output_option, verbose_option
from perfscope.errors import ExitCode
from perfscope.output import say_json
from perfscope.record.rundir import DEFAULT_NAME
from perfscope.units import counted

if TYPE_CHECKING:
    from rich.console import Console

    from perfscope.doctor.check import Outcome

SCHEMA_VERSION = "1"
_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red", "missing": "dim"}
_LABEL_WIDTH = 9


@click.command()
@output_option(
    "DIR", f"The run directory to check [default: {DEFAULT_NAME}].", default=Path(DEFAULT_NAME)
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=1.0, max=600.0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for two ranks to start, for each mpirun.",
)
@verbose_option
def doctor(*, output: Path, as_json: bool, timeout_s: float) -> int:
    """See what works on this machine; each line that is not ok names its fix.

    Exit code 0: nothing stands in the way of a recording; 1: there are problems.
    """
    from perfscope.doctor.check import State, examine, surroundings

    rows = examine(surroundings(output, timeout_s=timeout_s))
    problems = sum(outcome.state is State.PROBLEM for _, outcome in rows)
    if as_json:
        say_json(json.dumps(_document(rows, problems), indent=1))
    else:
        _print(rows, problems)
    return ExitCode.GATE_FAILED if problems else ExitCode.OK


def _document(rows: list[tuple[str, Outcome]], problems: int) -> dict[str, Any]:
    import perfscope
    from perfscope.report.text import visible_document

    document = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "perfscope", "version": perfscope.__version__},
        "problems": problems,
        "checks": [
            {
                "id": check,
                "title": outcome.title,
                "state": outcome.state.value,
                "summary": outcome.summary,
                "fix": outcome.fix,
                "details": outcome.details,
            }
            for check, outcome in rows
        ],
    }
    visible: dict[str, Any] = visible_document(document)
    return visible


def _print(rows: list[tuple[str, Outcome]], problems: int) -> None:
    from perfscope.report.console import console as of_stdout

    console = of_stdout()
    for _, outcome in rows:
        _print_row(console, outcome)
    end = counted(problems, "problem") if problems else "Ready to record."
    console.print()
    _line(console, end, style="bold red" if problems else "green")


def _print_row(console: Console, outcome: Outcome) -> None:
    from rich.text import Text

    from perfscope.report.terminal import clean

    state = outcome.state.value
    head = Text(f"{state:{_LABEL_WIDTH}}  ", style=_STYLES[state])
    head.append(clean(outcome.title), style="bold")
    console.print(head, highlight=False, soft_wrap=True)
    _line(console, outcome.summary, indent=_LABEL_WIDTH + 2)
    if outcome.fix:
        _line(console, f"fix: {outcome.fix}", indent=_LABEL_WIDTH + 2, style="cyan")


def _line(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    from perfscope.report.terminal import line

    line(console, text, indent=indent if console.width >= 50 else 2, style=style)
