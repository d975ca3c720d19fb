"""Dumps of several runs, which are refused: ranks of two hangs tell nothing of each other."""

from collections.abc import Sequence
from itertools import pairwise

from perfscope.errors import UnreadableInputError
from perfscope.readers.flight.dump import Dump

DAY_NS = 86400 * 10**9
APART_NS = DAY_NS
"""A job that hangs is ended within hours, and all of its ranks write their dumps then."""


def refuse_several_runs(dumps: Sequence[Dump]) -> None:
    """Lets dumps pass whose operations were queued within some hours of each other.

    Raises:
        UnreadableInputError: they are of runs at other times, or count in other units.
    """
    known: dict[str, tuple[tuple[int, ...], Dump]] = {}
    for dump in dumps:
        for name, ranks in dump.members.items():
            before, first = known.setdefault(name, (ranks, dump))
            if before != ranks:
                raise _several_runs(
                    f"Process group {name} has other ranks in {dump.path.name} than in "
                    f"{first.path.name}."
                )
    told = [(extent, dump) for dump in dumps if (extent := dump.extent_ns) is not None]
    told.sort(key=lambda one: one[0])
    _refuse_later_runs(told)
    for (earlier, one), (later, other) in pairwise(told):
        if later[0] - earlier[1] > APART_NS:
            days = (later[0] - earlier[1]) / DAY_NS
            raise _several_runs(
                f"The operations in {other.path.name} were queued {days:,.1f} days after those in "
                f"{one.path.name}."
            )


def _refuse_later_runs(told: Sequence[tuple[tuple[int, int], Dump]]) -> None:
    """Lets dumps pass of which none begins when, by another one, PyTorch had ended the job.

    Raises:
        UnreadableInputError: one does, so it is of a later run.
    """
    ends = [(end, dump) for _, dump in told if (end := dump.deadline_ns) is not None]
    if not ends:
        return
    end_ns, first = min(ends, key=lambda one: one[0])
    (begun_ns, _), last = told[-1]
    if begun_ns > end_ns:
        raise _several_runs(
            f"An operation in {first.path.name} timed out {(begun_ns - end_ns) / 1e9:,.0f} s "
            f"before the first one in {last.path.name} was queued, so the job had ended."
        )


def _several_runs(why: str) -> UnreadableInputError:
    return UnreadableInputError(
        "These dumps are of several runs, or count their times in other units.",
        why=why,
        action="Give the dumps of one run alone, by their names or in a folder of their own.",
    )
