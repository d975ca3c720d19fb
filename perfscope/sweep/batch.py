"""Slurm job scripts: one per configuration, which makes the runs of that configuration only."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from perfscope.files import replace_file
from perfscope.output import visible
from perfscope.sweep.capacity import demand
from perfscope.sweep.grid import Configuration, shown_command, shown_environment
from perfscope.sweep.plan import Plan, unwritable

SPARE_S = 120
README = "README.txt"
SUBMIT = "submit-all.sh"


def write_scripts(
    plan: Plan, *, place: Path, directory: Path, options: Sequence[str] = ()
) -> list[Path]:
    """Writes the job scripts of a sweep, one that submits them all, and how to go on.

    The jobs must see the sweep's directory; scripts of the same name are replaced.

    Returns:
        The job scripts.

    Raises:
        PerfscopeError: the directory cannot be written.
    """
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for one in plan.configurations:
            if one.number not in plan.refused:
                path = directory / f"{one.name}.sbatch"
                text = _script(plan, one, place=place, options=options)
                replace_file(path, os.fsencode(text), mode=0o700, durable=True)
                written.append(path)
        submit = ["#!/bin/sh", 'cd "$(dirname "$0")" || exit 1']
        submit += [f"sbatch {shlex.quote(path.name)}" for path in written]
        replace_file(
            directory / SUBMIT, os.fsencode("\n".join(submit) + "\n"), mode=0o700, durable=True
        )
        replace_file(directory / README, os.fsencode(how_to_go_on(place, directory)), durable=True)
    except OSError as error:
        raise unwritable(directory, error) from error
    return written


def how_to_go_on(place: Path, directory: Path) -> str:
    """What to do with the scripts, line by line."""
    return (
        f"Submit all jobs:    sh {shlex.quote(str(directory / SUBMIT))}\n"
        f"Make the study:     perfscope sweep --resume -o {shlex.quote(str(place))}\n"
        "The study can be made at any time, of the runs that are finished. A job that was cut\n"
        "short is submitted again as it is: it makes only the runs that are missing.\n"
    )


def _script(plan: Plan, one: Configuration, *, place: Path, options: Sequence[str]) -> str:
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in _options(plan, one, options)),
        "",
        f"# {visible(one.label)}",
        *(
            f"#   {visible(name)}={'(taken out)' if v is None else visible(v)}"
            for name, v in shown_environment(one.environment).items()
        ),
        f"#   {visible(shlex.join(shown_command(one.command)))}",
        f"# It runs in {visible(plan.directory)}",
        "# Modules and virtual environments that the command needs are loaded here.",
        "",
        f"exec {shlex.quote(sys.executable)} -m perfscope sweep --resume --only {one.number} \\",
        f"    --output {shlex.quote(str(place))}",
        "",
    ]
    return "\n".join(lines)


def _options(plan: Plan, one: Configuration, more: Sequence[str]) -> list[str]:
    wanted = demand(one, os.environ)
    found = [f"--job-name=sweep-{one.number:03d}"]
    if wanted.ranks is not None:
        found.append(f"--ntasks={wanted.ranks}")
    if wanted.threads is not None:
        found.append(f"--cpus-per-task={wanted.threads}")
    if plan.time_limit_s is not None:
        minutes = -(-int(plan.time_limit_s * plan.repeat + SPARE_S) // 60)
        found.append(f"--time={minutes}")
    found.append("--exclusive")
    return found + [visible(option, longest=len(option)) for option in more]
