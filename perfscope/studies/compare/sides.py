"""The sides of a comparison: each a configuration with one or several repeats of the same run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.metrics.results import Options
from perfscope.schema.compare import ComparedSide, NotCounted
from perfscope.structures import dataclass
from perfscope.studies.common.comparable import left_out
from perfscope.studies.common.places import find_runs
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.runs import labels, load_runs


@dataclass(frozen=True)
class Side:
    """One side: repeats of one configuration."""

    label: str  # unique among the sides
    runs: tuple[StudyRun, ...]  # those that count
    left_out: tuple[tuple[StudyRun, str], ...] = ()  # runs that do not count, with the reason

    @property
    def all_runs(self) -> tuple[StudyRun, ...]:
        """Also those that do not count."""
        return (*self.runs, *(run for run, _ in self.left_out))

    def row(self, first: int) -> ComparedSide:
        """The side as study.json names it; `first` is the place of its first run there."""
        after = first + len(self.runs)
        left_out = enumerate((reason for _, reason in self.left_out), start=after)
        return ComparedSide(
            self.label,
            tuple(range(first, after)),
            tuple(NotCounted(place, reason) for place, reason in left_out),
        )


def read_sides(
    groups: Sequence[Sequence[Path]],
    *,
    names: Sequence[str] = (),
    options: Options | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Side, ...]:
    """The sides at some groups of paths; a directory of recordings gives one repeat each.

    Sides are called by their paths where they have no names.

    Raises:
        UsageError: names and sides do not fit together, or a run stands on two sides.
        PerfscopeError: a run cannot be read.
    """
    paths = [[run for path in group for run in find_runs(path)] for group in groups]
    runs = load_runs([run for group in paths for run in group], options=options, progress=progress)
    sides, start = [], 0
    for label, group in zip(_names(groups, names), paths, strict=True):
        sides.append(make_side(label, runs[start : start + len(group)]))
        start += len(group)
    return tuple(sides)


def make_side(label: str, runs: Sequence[StudyRun]) -> Side:
    """A side of runs, of which those that failed and copies of others do not count."""
    kept: list[StudyRun] = []
    dropped: list[tuple[StudyRun, str]] = []
    for run in runs:
        if reason := left_out(run):
            dropped.append((run, reason))
        elif (copied := next((other for other in kept if _is_copy(run, other)), None)) is not None:
            dropped.append((run, f"it is a copy of {copied.label}"))
        else:
            kept.append(run)
    return Side(label, tuple(kept), tuple(dropped))


def _is_copy(run: StudyRun, other: StudyRun) -> bool:
    """Whether two recordings are the same run: repeats never start in the same nanosecond."""
    identity = [(r.started_s, r.result.run.wall_s, r.result.run.command) for r in (run, other)]
    return identity[0] == identity[1] and bool(run.started_s)


def _names(groups: Sequence[Sequence[Path]], names: Sequence[str]) -> list[str]:
    if names and len(names) != len(groups):
        raise UsageError(
            f"There are {len(groups)} sides and {len(names)} labels.",
            why="Each --label names one side, in their order.",
            action="Give one --label for each side, or none.",
        )
    if len(set(names)) != len(names):
        raise UsageError(
            "Two sides have the same label.",
            why="The result names the sides by their labels.",
            action="Give each side a label of its own.",
        )
    return list(names) or labels([group[0] for group in groups])
