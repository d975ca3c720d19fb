"""`perfscope restarts DIR...`: one job in several attempts, and what was lost between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfscope.cli.answer import finish_study
from perfscope.cli.options import Forms, forms_option, output_option, paths_argument, verbose_option
from perfscope.output import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.schema.study import Study
    from perfscope.studies.restarts.restarts import Start


@click.command()
@paths_argument("paths", "DIR...")
@forms_option
@output_option(
    "DIR", "Where study.json and study.html go.", default=Path("restarts"), show_default=True
)
@verbose_option
def restarts(paths: tuple[Path, ...], *, forms: Forms, output: Path) -> int:
    """Show what a job kept and lost over its attempts.

    DIR is a recording of `perfscope run`; each start of the job is one, or several are in one
    where the launcher starts ranks anew. Ranks may come and go between attempts.

    perfscope restarts run-1/ run-2/
    """
    from perfscope.readers.recording.reader import open_attempts
    from perfscope.readers.secrets import without_secrets
    from perfscope.studies.common.runs import labels
    from perfscope.studies.restarts.restarts import starts_of

    starts: list[Start] = []
    for position, (path, label) in enumerate(zip(paths, labels(paths), strict=True), start=1):
        tell(f"Reading recording {position} of {len(paths)}: {path}")
        traces = open_attempts(path)
        for trace in traces:
            without_secrets(trace)
        starts += starts_of(label, traces)
    return finish_study(_study(starts), output, forms=forms)


def _study(starts: Sequence[Start]) -> Study:
    from perfscope.schema.study import StudyRunRow
    from perfscope.studies.findings.catalog import study_of
    from perfscope.studies.restarts.labels import HOW_MEASURED, verdict
    from perfscope.studies.restarts.restarts import restarts as found_in

    found = found_in(starts)
    commands = {start.label: start for start in starts}
    rows = [
        StudyRunRow(
            label=one.label,
            path=one.path,
            command=commands[one.label].trace.command,
            ranks=one.ranks,
            hosts=one.hosts,
            cores=None,
            devices=None,
            launcher=None,
            wall_s=one.length_s,
            focus_s=None,
            steps=one.steps,
            batch_size=None,
            samples_per_s=None,
            step_s_median=None,
            parallel_efficiency=None,
            report=None,
            exit_code=commands[one.label].exit_code,
            ending=None if one.ended_well else one.ending,
        )
        for one in found.attempts
    ]
    return study_of(
        "restarts",
        found,
        rows,
        body=found,
        verdict=lambda _: verdict(
            found, {label: start.trace.command for label, start in commands.items()}
        ),
        how_measured=HOW_MEASURED,
    )
