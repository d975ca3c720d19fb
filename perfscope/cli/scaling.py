"""`perfscope scaling RUN...`: strong or weak scaling of several runs of one program."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfscope.cli.answer import finish_study, write_reports
from perfscope.cli.options import (
    Forms,
    foa_option,
    forms_option,
    output_option,
    path_option,
    paths_argument,
    phase_option,
    reports_option,
    verbose_option,
)
from perfscope.output import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.schema.study import Study
    from perfscope.studies.common.external import External
    from perfscope.studies.scaling.scaling import Scaling

DEFAULT_OUTPUT = Path("scaling")
CSV_FILE = "scaling.csv"


@click.command()
@paths_argument("runs", "RUN...")
@click.option(
    "--axis",
    type=click.Choice(["ranks", "cores", "threads", "gpus", "nodes"]),
    help="What is scaled [default: whatever differs between the runs].",
)
@click.option(
    "--weak/--strong",
    "weak",
    default=None,
    help="Whether the problem size grew with the ranks [default: detected].",
)
@click.option(
    "--formula",
    type=click.Choice(["pop", "bsc", "pypop", "pypop-additive", "cube"]),
    default="pop",
    show_default=True,
    help="Whose definition of serialization and transfer efficiency.",
)
@path_option(
    "--external",
    metavar="FILE.csv",
    text="Series to plot alongside: series,size,time_s (or samples_per_s, speedup); repeatable.",
    multiple=True,
)
@forms_option
@reports_option
@output_option(
    "DIR",
    "Where study.json, study.html and scaling.csv go, or the page itself: NAME.html.",
    default=DEFAULT_OUTPUT,
    show_default=True,
)
@foa_option
@phase_option
@verbose_option
def scaling(  # noqa: PLR0913 - one argument an option
    runs: tuple[Path, ...],
    *,
    axis: str | None,
    weak: bool | None,
    formula: str,
    external: tuple[Path, ...],
    forms: Forms,
    reports: bool,
    output: Path,
    foa: str | None,
    phase_rules: tuple[tuple[str, str], ...],
) -> int:
    """Show what more ranks, cores, GPUs or nodes gain, and what limits scaling.

    RUN is a run directory, a trace of another tool, or an analysis.json. Runs of one size are
    repeats of each other.

    perfscope scaling runs/*
    """
    from perfscope.metrics.efficiency.scalability import Variant
    from perfscope.metrics.results import Options
    from perfscope.report.csv import as_csv
    from perfscope.report.studies.sections.pop_table import factors_by_size
    from perfscope.studies.common.external import read_external
    from perfscope.studies.common.runs import load_runs
    from perfscope.studies.scaling import scaling as study
    from perfscope.studies.scaling.series import Axis

    series = [found for path in external for found in read_external(path)]
    options = Options(focus=foa, phase_rules=phase_rules)
    loaded = load_runs(runs, options=options, progress=tell)
    if reports:
        write_reports(loaded)
    found = study.scaling(
        loaded, axis=Axis(axis) if axis else None, weak=weak, variant=Variant(formula)
    )
    made = _study(found, series)
    assert made.scaling is not None
    return finish_study(
        made,
        output,
        forms=forms,
        last="Page: {page}",
        beside={CSV_FILE: as_csv(factors_by_size(made.scaling))},
    )


def _study(found: Scaling, external: Sequence[External]) -> Study:
    from perfscope.studies.findings.catalog import study_of
    from perfscope.studies.scaling import document

    return study_of(
        "scaling",
        found,
        found.runs,
        body=document.body(found, external),
        verdict=partial(document.verdict, found),
        how_measured=document.HOW,
    )
