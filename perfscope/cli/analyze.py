"""`perfscope analyze PATH...`: reads a run and writes analysis.json and report.html."""

from __future__ import annotations

import difflib
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfscope.cli.answer import answer, results_in, write_junit, write_tables, write_text, writing
from perfscope.cli.options import (
    foa_option,
    junit_option,
    output_option,
    path_option,
    paths_argument,
    phase_option,
    planned_option,
    tables_option,
    verbose_option,
)
from perfscope.cli.readiness import get_ready
from perfscope.errors import ExitCode, UsageError
from perfscope.output import tell
from perfscope.progress import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from perfscope.integrations.junit import Case
    from perfscope.schema.analysis import Analysis

ANALYSIS_FILE = "analysis.json"
REPORT_FILE = "report.html"
GATES = ("warn", "fail")


@click.command()
@paths_argument("paths", "PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print analysis.json instead of a summary.")
@output_option(
    "PLACE",
    "Where analysis.json and report.html go, or the page itself: NAME.html "
    "[default: the directory of the first PATH].",
)
@foa_option
@phase_option
@click.option(
    "--communication",
    multiple=True,
    metavar="GLOB",
    help="GPU kernels that communicate, by name, in addition to those of known libraries.",
)
@planned_option
@click.option(
    "--fail-under",
    type=click.FloatRange(0.0, 1.0),
    metavar="RATIO",
    help="Exit with 1 if the efficiency (of the devices where they were measured, else parallel "
    "efficiency) is below this or unavailable.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="WHAT",
    help="Exit with 1 if this finding is a problem; `fail`: any problem; `warn`: also any warning.",
)
@click.option(
    "--strict/--no-strict",
    default=True,
    help="Exit with 4 if the recording is damaged: ranks missing or cut short, records dropped, "
    "runs mixed [default: --strict].",
)
@click.option(
    "--check",
    is_flag=True,
    help="Also check the figures of the result against each other; exit with 1 if they disagree.",
)
@click.option(
    "--scheduler",
    metavar="WHERE",
    help="Read files on Dask workers: tcp://host:8786, slurm, or local:N processes.",
)
@junit_option
@path_option("--sarif", metavar="FILE", text="Write findings as SARIF.")
@click.option(
    "--log",
    "trackers",
    multiple=True,
    metavar="WHERE",
    help="Send the figures to tensorboard:DIR, wandb:PROJECT or mlflow:URI; may be repeated.",
)
@tables_option
@click.option("--no-report", is_flag=True, help="Write analysis.json only.")
@verbose_option
def analyze(  # noqa: PLR0913 - one argument an option
    paths: tuple[Path, ...],
    *,
    as_json: bool,
    output: Path | None,
    foa: str | None,
    phase_rules: tuple[tuple[str, str], ...],
    communication: tuple[str, ...],
    planned_steps: int | None,
    fail_under: float | None,
    fail_on: tuple[str, ...],
    strict: bool,
    check: bool,
    no_report: bool,
    scheduler: str | None,
    junit: Path | None,
    sarif: Path | None,
    trackers: tuple[str, ...],
    tables: Path | None,
) -> int:
    """Show where a run's time went, why, and what each fix would save.

    PATH is a recording of `perfscope run` or a trace of another tool: a file or a directory, also
    compressed with gzip. Several paths that belong to one run are merged.
    """
    get_ready()
    from perfscope.document.analysis import analysis
    from perfscope.metrics.results import Options
    from perfscope.readers.detect import ReadOptions
    from perfscope.readers.registry import open_traces
    from perfscope.schema.read import read_known

    _check_gates(fail_on)
    options = Options(focus=foa, phase_rules=phase_rules, planned_steps=planned_steps)
    with _reading_on(scheduler):
        with told():
            opened = open_traces(paths, ReadOptions(phase_rules, communication))
        for choice in opened.choices:
            tell(choice)
        with told():
            document = analysis(opened, options)
    beside = paths[0] if paths[0].is_dir() else paths[0].parent
    places = results_in(output or beside, document=ANALYSIS_FILE, page=REPORT_FILE)
    result = read_known(document)
    report = _write(document, None if no_report else result, places)
    what = "Analysis" if no_report else "Report"
    answer(document, partial(_print, result), as_json=as_json, last=f"{what}: {report}")
    if tables is not None:
        from perfscope.report.build import contexts

        write_tables(contexts(result), tables)
    cases = _cases(result, fail_under, fail_on)
    _hand_on(document, result, cases, junit=junit, sarif=sarif, trackers=trackers)
    if check and not _is_sound(document):
        return ExitCode.GATE_FAILED
    return _exit_code(result, cases, strict=strict)


def _reading_on(scheduler: str | None) -> AbstractContextManager[None]:
    if scheduler is None:
        return nullcontext()
    from perfscope.dask.scheduler import reading_on

    return reading_on(scheduler)


def _check_gates(fail_on: Sequence[str]) -> None:
    from perfscope.findings.core.catalog import diagnoses

    known = [*GATES, *(diagnosis.id for diagnosis in diagnoses())]
    for gate in fail_on:
        if gate not in known:
            near = difflib.get_close_matches(gate, known)
            raise UsageError(
                f"Unknown finding {gate!r}.",
                why="--fail-on takes `fail`, `warn` or the id of a finding.",
                action=f"Did you mean: {', '.join(near)}"
                if near
                else f"The ids are {', '.join(known[len(GATES) :])}.",
            )


def _write(document: dict[str, Any], result: Analysis | None, places: tuple[Path, Path]) -> Path:
    """Writes the document, and the report of a result; returns the file to look at."""
    from perfscope.document.build import write

    place, report = places
    text = write(place, document)
    if result is None:
        return place
    from perfscope.report.build import write_report

    with writing(report):
        write_report(result, report, text)
    return report


def _print(result: Analysis, console: Console) -> None:
    from perfscope.report.terminal import print_summary

    print_summary(result, console)


def _is_sound(document: dict[str, Any]) -> bool:
    """Whether the invariants of the document hold; those that do not are named on stderr."""
    from perfscope.document.invariants import broken

    found = broken(document)
    for sentence in found:
        tell(f"Check failed: {sentence}")
    if found:
        tell("This is a bug in perfscope, or damage that it did not detect: please report it.")
    return not found


def _exit_code(result: Analysis, cases: Sequence[Case], *, strict: bool) -> int:
    """0, 4 for a damaged recording, or 1 for a gate that failed; why is said on stderr."""
    failed = [case for case in cases if case.failure is not None]
    for case in failed:
        tell(f"Gate failed: {case.failure}")
    if strict and result.run.damage:
        for one in result.run.damage:
            tell(f"Damaged recording: {one.text}")
        tell(f"So the exit code is {ExitCode.INCOMPLETE:d}; with --no-strict it would be 0.")
        return ExitCode.INCOMPLETE
    return ExitCode.GATE_FAILED if failed else ExitCode.OK


def _cases(result: Analysis, fail_under: float | None, fail_on: Sequence[str]) -> list[Case]:
    """The gates and the findings, each with the reason why it fails if it does."""
    from perfscope.integrations.junit import Case

    cases = []
    leading = result.verdict.efficiency
    value = leading.value
    if fail_under is not None:
        shown = f"not available ({leading.reason})" if value is None else f"{value:.3f}"
        reason = f"{leading.label} {shown}, --fail-under {fail_under:g}"
        is_failed = value is None or value < fail_under
        cases.append(Case(leading.label, reason if is_failed else None))
    for finding in result.findings:
        status, name = finding.status.value, finding.id
        caught = (status == "fail" and {name, "fail", "warn"} & set(fail_on)) or (
            status == "warn" and "warn" in fail_on
        )
        failure = f"{name}: {finding.title}" if caught else None
        cases.append(Case(name, failure, f"{status}: {finding.title}"))
    return cases


def _hand_on(
    document: dict[str, Any],
    result: Analysis,
    cases: Sequence[Case],
    *,
    junit: Path | None,
    sarif: Path | None,
    trackers: Sequence[str],
) -> None:
    """Writes what other programs read of the result, where that is asked for."""
    write_junit(junit, "perfscope analyze", cases)
    if sarif is not None:
        from perfscope.findings.core.catalog import diagnoses
        from perfscope.integrations.sarif import sarif as findings

        described = {diagnosis.id: diagnosis.description for diagnosis in diagnoses()}
        write_text(sarif, findings(result, described, root=Path.cwd()))
    if trackers:
        from perfscope.integrations.trackers import log

        for where in trackers:
            tell(log(where, document))
