"""`perfscope compare A B ...`: slower, faster or noise, and where the time went."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfscope.cli.answer import finish_study, write_junit, write_reports, write_text
from perfscope.cli.options import (
    FiniteRange,
    Forms,
    foa_option,
    forms_option,
    junit_option,
    output_option,
    path_option,
    phase_option,
    reports_option,
    verbose_option,
)
from perfscope.errors import PerfscopeError, UsageError
from perfscope.output import say_markdown, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.schema.compare import ComparedSide
    from perfscope.schema.study import Study
    from perfscope.studies.common.measures import Measure

GATES = ("slower", "unclear", "unlike", "new-finding")
UNITS = ("throughput", "step", "epoch", "focus", "wall")
FACTOR = 1.02
_TARGET = re.compile(r"\s*([^<>=\s]{1,100})\s*(<=|>=)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")
_SEVERAL = ("--before", "--after")


class _Compare(click.Command):
    """--before and --after take several paths, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeats the option before each of its paths."""
        return super().parse_args(ctx, spread(args))


def spread(arguments: Sequence[str]) -> list[str]:
    """`--before a b` as `--before a --before b`, which click understands."""
    found: list[str] = []
    option, is_first = "", True
    for place, word in enumerate(arguments):
        if word == "--":
            return [*found, *arguments[place:]]
        if word.startswith("-") and word != "-":
            option, is_first = (word if word in _SEVERAL else ""), True
            found.append(word)
        elif option and not is_first:
            found += [option, word]
        else:
            found.append(word)
            is_first = False
    return found


@click.command(cls=_Compare)
@click.argument("paths", metavar="[A B...]", nargs=-1, type=click.Path(path_type=Path))
@path_option(
    "--before", metavar="PATH...", text="Runs of the first side, instead of A.", multiple=True
)
@path_option(
    "--after", metavar="PATH...", text="Runs of the second side, instead of B.", multiple=True
)
@click.option("--label", "labels", multiple=True, metavar="TEXT", help="Name of a side, in order.")
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    help="Measure to compare [default: throughput, else wall time of equal steps, else step time].",
)
@click.option(
    "--target",
    metavar="NAME<=VALUE",
    help="Compare the time until the program reports this: 'loss<=0.15', 'accuracy>=0.9'.",
)
@click.option(
    "--factor",
    type=FiniteRange(1.0, 100.0),
    default=FACTOR,
    show_default=True,
    help="Smallest ratio that counts as a difference, however significant.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    type=click.Choice(GATES),
    help="Exit with 1 if slower (beyond noise and --factor), unclear (nothing significant, or too "
    "few runs), unlike (not like with like), or with a new finding.",
)
@foa_option
@phase_option
@forms_option
@reports_option
@junit_option
@click.option("--markdown", metavar="FILE", help="Write Markdown for a pull request; - is stdout.")
@output_option(
    "DIR", "Where study.json and study.html go, or the page itself: NAME.html [default: compare]."
)
@verbose_option
def compare(  # noqa: PLR0913 - one argument an option
    paths: tuple[Path, ...],
    *,
    before: tuple[Path, ...],
    after: tuple[Path, ...],
    labels: tuple[str, ...],
    unit: str | None,
    target: str | None,
    factor: float,
    fail_on: tuple[str, ...],
    foa: str | None,
    phase_rules: tuple[tuple[str, str], ...],
    forms: Forms,
    reports: bool,
    markdown: str | None,
    junit: Path | None,
    output: Path | None,
) -> int:
    """Compare runs: environment first, then speed, efficiencies, time and findings.

    A side is a run, or a directory whose runs are its repeats. Each further side is compared with
    the first. Record at least four repeats per side to detect small differences.

    \b
    perfscope compare before/ after/ --fail-on slower
    perfscope compare --before a1 a2 a3 a4 --after b1 b2 b3 b4
    """  # noqa: D301 - click reads the backspace
    from perfscope.metrics.results import Options
    from perfscope.studies.compare.sides import read_sides

    groups, names = _groups(paths, before, after, labels)
    chosen = _measure(unit, target)
    options = Options(focus=foa, phase_rules=phase_rules)
    sides = read_sides(groups, names=names, options=options, progress=tell)
    if reports:
        write_reports([run for side in sides for run in side.all_runs])
    study = build(sides, measure=chosen, factor=factor)
    return finish_study(
        study,
        output or Path("compare"),
        forms=forms,
        is_told=not _write_markdown(study, markdown),
        gates=lambda: _told_gates(study, fail_on, junit),
    )


def build(sides: Sequence[Any], *, measure: Measure | None, factor: float) -> Study:
    """study.json of a comparison."""
    from perfscope.studies.compare import labels
    from perfscope.studies.compare.compare import body
    from perfscope.studies.findings.catalog import study_of

    found = body(sides, measure=measure, factor=factor)
    return study_of(
        "compare",
        sides,
        [run for side in sides for run in side.all_runs],
        body=found,
        verdict=lambda _: labels.verdict(found),
        how_measured=labels.how_measured(found),
    )


def _groups(
    paths: Sequence[Path], before: Sequence[Path], after: Sequence[Path], labels: Sequence[str]
) -> tuple[list[list[Path]], list[str]]:
    """The paths of each side, and the sides' names where they are not the paths."""
    if not (before or after):
        if len(paths) < 2:
            raise UsageError(
                "There is nothing to compare with.",
                why=f"compare needs two sides or more and got {len(paths)}.",
                action="Name two: perfscope compare before/ after/",
            )
        return [[path] for path in paths], list(labels)
    if paths or not (before and after):
        raise UsageError(
            "--before and --after belong together and take the place of A and B.",
            why=f"{paths[0]} belongs to no side." if paths else "One of them is missing.",
            action="Write: perfscope compare --before a1 a2 --after b1 b2",
        )
    return [list(before), list(after)], list(labels) or ["before", "after"]


def _measure(unit: str | None, target: str | None) -> Measure | None:
    from perfscope.studies.common.measures import JUDGED, solution

    if target is None:
        return next((measure for measure in JUDGED if measure.id == unit), None)
    found = _TARGET.fullmatch(target)
    try:
        value = float(found[3]) if found else None
    except ValueError:
        value = None
    if found is None or value is None or unit is not None:
        raise UsageError(
            f"--target {target!r} cannot be used.",
            why="It names what the program reports and a value that it reaches, without --unit.",
            action="Write it as --target 'loss<=0.15' or --target 'accuracy>=0.9'.",
        )
    return solution(target.strip(), series=found[1], at_most=found[2] == "<=", value=value)


def _write_markdown(study: Study, file: str | None) -> bool:
    """Writes the Markdown; whether it went to stdout, which then carries nothing else."""
    from perfscope.report.studies.markdown import comparison

    if file is None:
        return False
    text = comparison(study)
    if file == "-":
        say_markdown(text)
        return True
    write_text(Path(file), text)
    return False


def _told_gates(study: Study, fail_on: Sequence[str], junit: Path | None) -> list[str]:
    """The gates that failed, in words, which the JUnit report also has where one is wanted."""
    from perfscope.integrations.junit import Case

    failed = _failed_gates(study, fail_on)
    case = Case("comparison", "; ".join(failed) or None, study.verdict.sentence)
    write_junit(junit, "perfscope compare", [case])
    return failed


def _failed_gates(study: Study, fail_on: Sequence[str]) -> list[str]:
    """The gates that failed, in words.

    Raises:
        PerfscopeError: there is a gate, and a side without a run that it could judge.
    """
    from perfscope.schema.compare import Answer

    found = study.compare
    assert found is not None
    if fail_on:
        _refuse_empty(found.sides)
    failed = []
    for row in found.comparisons:
        if row.answer is Answer.SLOWER and "slower" in fail_on:
            failed.append(f"{row.side} is slower than {row.against}")
        if row.answer in (Answer.UNCLEAR, Answer.UNKNOWN) and "unclear" in fail_on:
            failed.append(f"{row.side} against {row.against} is not clear")
    if found.unlike and "unlike" in fail_on:
        failed.append("the sides are not alike")
    new = [row.id for row in found.finding_changes if row.change == "new"]
    if new and "new-finding" in fail_on:
        failed.append(f"new findings: {', '.join(new)}")
    return failed


def _refuse_empty(sides: Sequence[ComparedSide]) -> None:
    """A gate lets nothing pass because all of its runs crashed, nor calls that slower."""
    empty = next((side for side in sides if not side.runs), None)
    if empty is None:
        return
    reasons = [one.reason for one in empty.left_out]
    raise PerfscopeError(
        f"No run of {empty.label} counts, so --fail-on has nothing to judge.",
        why=f"Of its {len(reasons)} runs the first: {reasons[0]}." if reasons else "It is empty.",
        action="See why they failed (perfscope analyze RUN), and record runs that end well.",
    )
