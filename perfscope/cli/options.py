"""Options that several commands have, as decorators."""

import math
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from perfscope.errors import UsageError
from perfscope.structures import dataclass


class FiniteRange(click.FloatRange):
    """A range that refuses nan."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails where it is none."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return found


Command = TypeVar("Command", bound=Callable[..., Any])


def _rules(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """The phase and the glob of each --phase option.

    Raises:
        UsageError: a text is no rule.
    """
    rules = []
    for text in texts:
        name, _, pattern = text.partition("=")
        if not (name and pattern):
            raise UsageError(
                f"--phase {text!r} is not a rule.",
                why="A rule names a phase and the functions that belong to it.",
                action="Write it as --phase evaluate='*validate*'.",
            )
        rules.append((name, pattern))
    return tuple(rules)


class _GivenPath(click.Path):
    """A path that is not empty, as that of a variable without a value is: it would mean "."."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            BadParameter: it is empty.
        """
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def path_option(*names: str, metavar: str, text: str, **more: Any) -> Callable[[Command], Command]:
    """An option that takes a path; `text` is its help."""
    return click.option(*names, type=_GivenPath(path_type=Path), metavar=metavar, help=text, **more)


def output_option(metavar: str, text: str, **more: Any) -> Callable[[Command], Command]:
    """Where the results of a command go."""
    return path_option("--output", "-o", metavar=metavar, text=text, **more)


def paths_argument(name: str, metavar: str) -> Callable[[Command], Command]:
    """The paths that a command reads, at least one."""
    path = _GivenPath(path_type=Path)
    return click.argument(name, metavar=metavar, nargs=-1, required=True, type=path)


verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,  # read by `group.execute`, which shows errors
    help="Show a traceback with an error.",
)
reports_option = click.option(
    "--reports", is_flag=True, help="Write report.html beside each run that has none."
)
foa_option = click.option(
    "--foa",
    metavar="WINDOW",
    help="Focus of analysis: 10:20 (seconds), phase:evaluate, epoch:3, step:100-200.",
)
phase_option = click.option(
    "--phase",
    "phase_rules",
    multiple=True,
    callback=_rules,
    metavar="ID=GLOB",
    help="Functions that form a phase, by name: --phase evaluate='*validate*'. May be repeated.",
)
tables_option = path_option(
    "--csv", "tables", metavar="DIR", text="Write each table of the page as a CSV file in DIR."
)
junit_option = path_option("--junit", metavar="FILE", text="Write the gates as JUnit XML.")
planned_option = click.option(
    "--planned-steps",
    type=click.IntRange(1),
    metavar="N",
    help="Steps of the planned run, for which savings are given as well.",
)


@dataclass(frozen=True)
class Forms:
    """In which forms the result of a study is wanted beside its page."""

    as_json: bool = False  # print the document instead of a summary
    tables: Path | None = None  # the directory of the page's tables as CSV files


def forms_option(command: Callable[..., int]) -> Callable[..., int]:
    """The options that every command has which makes a study, as its argument `forms`."""

    @wraps(command)
    def called(*, as_json: bool, tables: Path | None, **arguments: object) -> int:
        return command(forms=Forms(as_json, tables), **arguments)

    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print study.json instead of a summary."
    )
    return as_json(tables_option(called))
