"""Whether all runs of a study are of one program; a study says first where they are not."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfscope.studies.common.run import StudyRun

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
