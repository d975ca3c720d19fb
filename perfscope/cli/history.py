"""`perfscope history DIR`: trends over commits and dates, a badge, and an index of all reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfscope.cli.answer import finish_study, write_reports
from perfscope.cli.options import (
    FiniteRange,
    Forms,
    forms_option,
    output_option,
    paths_argument,
    reports_option,
    verbose_option,
)
from perfscope.errors import PerfscopeError
from perfscope.output import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.schema.history import Unread
    from perfscope.schema.study import Study
    from perfscope.studies.common.run import StudyRun

FACTOR = 1.02


@click.command()
@paths_argument("paths", "DIR...")
@click.option(
    "--factor",
    type=FiniteRange(1.0, 100.0),
    default=FACTOR,
    show_default=True,
    help="Smallest ratio that counts as a change.",
)
@click.option("--ignore-command", is_flag=True, help="Runs of any command are one trend.")
@reports_option
@click.option(
    "--fail-on",
    type=click.Choice(["worse"]),
    help="Exit with 1 if the last change in speed was for the worse.",
)
@forms_option
@output_option("DIR", "Where study.json, study.html and badge.svg go [default: the first DIR].")
@verbose_option
def history(
    paths: tuple[Path, ...],
    *,
    factor: float,
    ignore_command: bool,
    reports: bool,
    fail_on: str | None,
    forms: Forms,
    output: Path | None,
) -> int:
    """Show how speed, efficiency and memory changed over the recordings below DIR.

    Runs are ordered by date and grouped by commit, which `perfscope run` records. Runs that cannot
    be read are named and left out.

    perfscope history runs/ --fail-on worse
    """
    from perfscope.report.studies.badge import BADGE_FILE, badge_svg

    runs, unreadable = _read(paths)
    directory = output or (paths[0] if paths[0].is_dir() else paths[0].parent)
    if reports:
        write_reports(runs)
    study = build(runs, unreadable=unreadable, factor=factor, ignore_command=ignore_command)
    history = study.history
    assert history is not None
    is_worse = history.badge.status == "fail"
    return finish_study(
        study,
        directory,
        forms=forms,
        last=f"Report: {{page}}; badge: {{folder}}/{BADGE_FILE}",
        beside={BADGE_FILE: badge_svg(history)},
        gates=lambda: [study.verdict.sentence] if fail_on and is_worse else [],
    )


def _read(paths: Sequence[Path]) -> tuple[list[StudyRun], list[Unread]]:
    """The runs below some directories, oldest first, and what could not be read."""
    from perfscope.files import resolved
    from perfscope.schema.history import Unread
    from perfscope.studies.common.places import find_runs
    from perfscope.studies.common.runs import labels, load_run

    places = list({resolved(run): run for path in paths for run in find_runs(path)}.values())
    runs: list[StudyRun] = []
    unreadable: list[Unread] = []
    for number, (path, label) in enumerate(zip(places, labels(places), strict=True), start=1):
        tell(f"Reading run {number} of {len(places)}: {path}")
        try:
            runs.append(load_run(path, label=label))
        except PerfscopeError as error:
            if len(places) == 1:
                raise
            unreadable.append(Unread(str(path), f"{error.what} {error.why}"))
    if not runs:
        raise PerfscopeError(
            "None of the runs can be read.",
            why=unreadable[0].reason,
            action="Record runs first: perfscope run --output history/run -- ...",
        )
    return sorted(runs, key=lambda run: (run.started_s, run.label)), unreadable


def build(
    runs: Sequence[StudyRun], *, unreadable: Sequence[Unread], factor: float, ignore_command: bool
) -> Study:
    """study.json of a history."""
    from perfscope.schema.study import HistoryRunRow
    from perfscope.studies.findings.catalog import study_of
    from perfscope.studies.history import labels
    from perfscope.studies.history.history import body, day, groups

    found = groups(runs, ignore_command=ignore_command)
    shown = body(found, runs, factor=factor, unreadable=unreadable)
    rows = [
        HistoryRunRow(
            **vars(run.row()),
            start_unix_s=run.result.run.start_unix_s,
            day=day(run.started_s) if run.started_s else "",
            commit=run.result.run.commit,
        )
        for run in runs
    ]
    return study_of(
        "history",
        found,
        rows,
        body=shown,
        verdict=lambda _: labels.verdict(shown),
        how_measured=labels.how_measured(shown),
    )
