"""Whether the runs of a study are of one program: what is said first where they are not."""

from collections.abc import Iterable, Sequence

from perfscope.studies.common.run import StudyRun

MOST_NAMED = 5


def programs(runs: Iterable[StudyRun]) -> tuple[str, ...]:
    """What the ranks of some runs ran, as far as that is known."""
    return tuple(sorted({run.result.run.program for run in runs if run.result.run.program}))


def are_different(names: Sequence[str], *, who: str = "The runs") -> str:
    """That runs are of different programs, as a sentence; "" where they are not."""
    if len(names) < 2:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{who} are of different programs ({', '.join(names[:MOST_NAMED])}{more})."
