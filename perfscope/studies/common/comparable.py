"""Which runs count in a study, and whether they are of one program.

A run that died early is not faster, so it is excluded; of different programs a study says first.
"""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfscope.studies.common.run import StudyRun

ENDED_WELL = (0, None)


def left_out(run: StudyRun) -> str:
    """Why a run does not count; "" when it does."""
    if run.result.run.exit_code not in ENDED_WELL:
        return f"it ended with exit code {run.result.run.exit_code}"
    if run.ending:
        return f"it did not end by itself: {run.ending}"
    return ""


def left_out_of_sizes(run: StudyRun) -> str:
    """Why a run does not count where runs are told apart by their size; "" when it does."""
    if why := left_out(run):
        return why
    if run.unknown_size:
        return f"how large it was is not known ({run.unknown_size})"
    return ""


MOST_NAMED = 5


def programs(runs: Iterable[StudyRun]) -> tuple[str, ...]:
    """What the ranks of some runs ran, as far as that is known: of Python the script."""
    return tuple(sorted({name for run in runs if (name := _program(run))}))


def _program(run: StudyRun) -> str:
    """The script that a command names, else its module, else what the ranks ran."""
    words = run.result.run.command
    scripts = (Path(word).name for word in words if word.endswith(".py"))
    modules = (after for word, after in itertools.pairwise(words) if word == "-m")
    return next(scripts, "") or next(modules, "") or run.result.run.program or ""


def are_different(names: Sequence[str], *, who: str = "The runs") -> str:
    """That runs are of different programs, as a sentence; "" where they are not."""
    if len(names) < 2:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{who} are of different programs ({', '.join(names[:MOST_NAMED])}{more})."
