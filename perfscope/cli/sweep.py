"""`perfscope sweep -- COMMAND`: runs a command in many configurations and compares them."""

from __future__ import annotations

import os
import shlex
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfscope.cli.answer import finish_study, write_reports
from perfscope.cli.options import Forms, forms_option, output_option, path_option, verbose_option
from perfscope.cli.run import Steps
from perfscope.errors import ExitCode, UsageError
from perfscope.output import rewrite, say, say_lines, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from perfscope.sweep.plan import Plan, Run

DEFAULT_DIRECTORY = "sweep"
INTERRUPTED = 130
MOST_REPORTS = 100  # of runs, written for the study to lead to

# \b keeps click from folding the lines behind it.
_HELP = """Run COMMAND in many configurations, record each run, and show which is best and why.

\b
perfscope sweep --env OMP_NUM_THREADS=1,2,4 --var ranks=1,2,4 -- \\
    mpirun -n {ranks} python train.py
perfscope sweep --configs libraries.yaml --repeat 3 -- python train.py
perfscope sweep --resume

Every combination of --env, --var and the sets of --configs is run once per repeat. After an
interruption, the same command or --resume continues where it stopped.
"""


def _seconds(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A duration such as 90, 90s, 10m or 2h, in seconds."""
    if value is None:
        return None
    factors = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, factor = (value[:-1], factors[value[-1:]]) if value[-1:] in factors else (value, 1.0)
    try:
        seconds = float(number) * factor
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 1e7:
        raise click.BadParameter(f"{value!r} is not a duration; write it as 90s, 10m or 2h")
    return seconds


@click.command(
    help=_HELP,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME=V,V...",
    help="Values of an environment variable.",
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=V,V...",
    help="Values to substitute for {NAME} in the command.",
)
@path_option(
    "--configs", metavar="FILE", text="Named sets (YAML): env, var, launcher, command of each."
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Runs of each configuration [default: 1].",
)
@click.option("--steps", type=Steps(), metavar="A:B", help="As in `perfscope run`.")
@click.option(
    "--stop-after", type=click.IntRange(min=0), metavar="N", help="End each run after step N."
)
@click.option(
    "--time-limit", callback=_seconds, metavar="TIME", help="Time limit per run: 90s, 10m, 2h."
)
@click.option(
    "--oversubscribe", is_flag=True, help="Also run configurations with more threads than CPUs."
)
@click.option(
    "--search",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Let Optuna choose N configurations instead of running all.",
)
@click.option(
    "--metric",
    metavar="REGEX",
    help="A value in the job's output to show beside the speed: 'accuracy ([0-9.]+)'.",
)
@click.option(
    "--throughput",
    metavar="REGEX",
    help="The speed that the job prints, instead of the recorded one: 'img/sec ([0-9.]+)'.",
)
@path_option("--sbatch", metavar="DIR", text="Write Slurm job scripts to DIR instead of running.")
@click.option(
    "--sbatch-option",
    "sbatch_options",
    multiple=True,
    metavar="OPTION",
    help="An #SBATCH option for the scripts: --partition=short.",
)
@output_option(
    "DIR",
    f"Where runs and study go [default: {DEFAULT_DIRECTORY}].",
    default=Path(DEFAULT_DIRECTORY),
)
@click.option("--resume", is_flag=True, help="Resume the sweep in DIR; no command needed.")
@click.option("--no-run", is_flag=True, help="Run nothing; build the study from the existing runs.")
@click.option(
    "--reports/--no-reports",
    default=True,
    help="Write a report.html for each run (up to 100) and link to it from the study.",
)
@click.option("--dry-run", is_flag=True, help="List the configurations and exit.")
@click.option("--only", type=int, hidden=True)
@forms_option
@verbose_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def sweep(  # noqa: PLR0913 - one argument an option
    command: tuple[str, ...],
    *,
    output: Path,
    resume: bool,
    no_run: bool,
    reports: bool,
    dry_run: bool,
    only: int | None,
    forms: Forms,
    sbatch: Path | None,
    sbatch_options: tuple[str, ...],
    **options: Any,
) -> int:
    """Runs the plan, or goes on with it, and makes the study."""
    from perfscope.cli._sweep_plan import Asked, planned, stored
    from perfscope.sweep import plan as plans
    from perfscope.sweep.store import alone

    place = Path(os.path.abspath(output))  # noqa: PTH100 - as the recorder names it, links kept
    asked = Asked(**options)
    if resume and not command:
        wanted = stored(place, asked)
    else:
        wanted = planned(command, asked, is_batch=sbatch is not None)
    if dry_run:
        return _list(wanted)
    if only is not None:
        return _run_one_configuration(wanted, place, only)
    plans.refuse_foreign(place)
    with alone(place):
        plan, is_old = plans.settle(place, wanted)
        if sbatch is not None:
            return _write_scripts(plan, place, sbatch.absolute(), sbatch_options)
        if not (no_run or plan.batch):
            interrupted = _run_all(plan, place, is_old=is_old)
            if interrupted:
                return INTERRUPTED
        return _study(place, forms=forms, reports=reports)


def _list(plan: Plan) -> int:
    """Prints the configurations with their commands."""
    from perfscope.sweep.grid import shown_command

    for one in plan.configurations:
        refused = plan.refused.get(one.number)
        note = f"  [not run: {refused}]" if refused else ""
        say(f"{one.number:>4}  {one.label or '(as it is)'}{note}")
        say(f"      {' '.join(shown_command(one.command))}")
    runs = (len(plan.configurations) - len(plan.refused)) * plan.repeat
    say(f"{len(plan.configurations):,} configurations, {runs:,} runs")
    return ExitCode.OK


def _run_one_configuration(plan: Plan, place: Path, number: int) -> int:
    """What a job script does: the runs of one configuration, and no study."""
    from perfscope.sweep.campaign import work_through

    runs = [run for run in plan.runs() if run.configuration.number == number]
    if not runs:
        raise UsageError(
            f"The sweep in {place} has no configuration {number} to run.",
            why=f"Its configurations are 1 to {len(plan.configurations)}.",
            action="Write the job scripts again: perfscope sweep --sbatch DIR ...",
        )
    with _stopped_in_order():
        work_through(plan, runs, place=place, total=len(runs), tell=_tell)
    return ExitCode.OK


def _write_scripts(plan: Plan, place: Path, directory: Path, options: tuple[str, ...]) -> int:
    from perfscope.sweep import batch

    written = batch.write_scripts(plan, place=place, directory=directory, options=options)
    _tell(f"{len(written)} job scripts in {directory}; nothing was started")
    say_lines(batch.how_to_go_on(place, directory))
    return ExitCode.OK


def _run_all(plan: Plan, place: Path, *, is_old: bool) -> bool:
    """Makes the runs that are missing; whether the user stopped it."""
    from perfscope.sweep.campaign import work_through
    from perfscope.sweep.store import Store

    store = Store(place)
    runs: Iterable[Run] = plan.runs()
    total = (len(plan.configurations) - len(plan.refused)) * plan.repeat
    if plan.search is not None:
        from perfscope.sweep.search import runs_of_search

        runs = runs_of_search(plan, _measure(place))
        total = min(total, plan.search * plan.repeat)
    if is_old:
        done = sum(store.finished(run) is not None for run in plan.runs())
        _tell(f"resuming the sweep in {place}: {done} of {total} runs are finished")
    for number, why in sorted(plan.refused.items())[:1]:
        more = f", and {len(plan.refused) - 1} more" if len(plan.refused) > 1 else ""
        label = plan.configurations[number - 1].label
        _tell(f"not run: {label} ({why}){more}; --oversubscribe runs them anyway")
    try:
        with _stopped_in_order():
            work_through(plan, runs, place=place, total=total, tell=_tell)
    except KeyboardInterrupt:
        done = sum(store.finished(run) is not None for run in plan.runs())
        named = shlex.quote(str(place))
        _tell(f"stopped: {done} of {total} runs are finished and kept in {place}")
        _tell(f"resume with:        perfscope sweep --resume -o {named}")
        _tell(f"study what is done: perfscope sweep --resume --no-run -o {named}")
        return True
    return False


@contextmanager
def _stopped_in_order() -> Iterator[None]:
    """The end of a terminal or of a batch job stops a sweep as Ctrl-C does."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measure(place: Path) -> Callable[..., float | None]:
    """The value of a configuration for a search: its median speed."""
    from perfscope.sweep.study.runs import Measurer

    return Measurer(place).value_of


def _study(place: Path, *, forms: Forms, reports: bool) -> int:
    """Makes study.json and study.html of what is finished, and prints it."""
    from perfscope.studies.findings.catalog import study_of
    from perfscope.sweep.study.build import parts, read

    sweep = read(place, progress=lambda text: _tell(text, is_passing=True))
    found = study_of("sweep", sweep, **parts(sweep))
    if reports:
        _tell("writing the reports of the runs", is_passing=True)
        write_reports([one.run for one in sweep.runs if one.run is not None][:MOST_REPORTS])
    rewrite("")
    return finish_study(found, place, forms=forms)


def _tell(text: str, *, is_passing: bool = False) -> None:
    """Writes a line to stderr; what passes is written to a terminal alone, over itself."""
    write = rewrite if is_passing else tell
    write(f"perfscope: {text}")
