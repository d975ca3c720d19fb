"""Runs of the same job over commits and dates: trends, and where they changed."""

import shlex
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from perfscope.output import shortened
from perfscope.schema.compare import NotCounted
from perfscope.schema.history import (
    Badge,
    History,
    HistoryGroup,
    HistoryPoint,
    Trend,
    TrendChange,
    Unread,
)
from perfscope.structures import dataclass
from perfscope.studies.common.comparable import left_out, programs
from perfscope.studies.common.measures import PEAK, STEP, THROUGHPUT, WALL, Measure
from perfscope.studies.common.run import StudyRun
from perfscope.studies.history.change_points import LEVEL, least_points, trend
from perfscope.studies.history.losses import loss_series, with_last_change
from perfscope.units import counted, format_change

FACTOR = 1.02  # as in a comparison: smaller changes come and go with the layout of memory
MOST_LETTERS = 80


def _efficiency(name: str, label: str) -> Measure:
    return Measure(name, label, "ratio", False, lambda run: run.metric(name))


TRENDS = (
    THROUGHPUT,
    STEP,
    WALL,
    _efficiency("parallel_efficiency", "parallel efficiency"),
    _efficiency("training_efficiency", "training efficiency"),
    PEAK,
)
SPEEDS = (THROUGHPUT, STEP, WALL)


@dataclass(frozen=True)
class Point:
    """One place of a trend: all runs of one commit, or one run whose commit is not known."""

    commit: str
    branch: str
    start_unix_s: float
    runs: tuple[StudyRun, ...]

    @property
    def label(self) -> str:
        """The commit, or the date where it is not known."""
        return self.commit[:10] or day(self.start_unix_s)


@dataclass(frozen=True)
class Group:
    """Runs that are alike: the same command, ranks and batch size."""

    command: tuple[str, ...]
    ranks: int
    batch_size: int | None
    points: tuple[Point, ...]
    is_size_known: bool = True  # else the ranks are those of the files, and the job may have more

    @property
    def label(self) -> str:
        """The group in words."""
        command = shortened(shlex.join(self.command), MOST_LETTERS)
        batch = f", batch size {self.batch_size}" if self.batch_size else ""
        least = "" if self.is_size_known else "at least "
        return f"{command or 'unknown command'} ({least}{counted(self.ranks, 'rank')}{batch})"


def groups(runs: Sequence[StudyRun], *, ignore_command: bool = False) -> tuple[Group, ...]:
    """The runs that count, by what makes them alike; the group with most points first."""
    found: dict[tuple[Any, ...], list[StudyRun]] = {}
    for run in runs:
        if not left_out(run):
            command = () if ignore_command else run.result.run.command
            batch_size, is_known = run.result.run.batch_size, not run.unknown_size
            found.setdefault((command, run.ranks, batch_size, is_known), []).append(run)
    made = [
        Group(of[0].result.run.command, ranks, batch_size, _points(of), is_known)
        for (_, ranks, batch_size, is_known), of in found.items()
    ]
    return tuple(sorted(made, key=lambda group: (-len(group.points), group.label)))


def _points(runs: Sequence[StudyRun]) -> tuple[Point, ...]:
    """Repeats of a commit together, by when they were first started."""
    ordered = sorted(runs, key=lambda run: (run.started_s, run.label))
    found: dict[str, list[StudyRun]] = {}
    for number, run in enumerate(ordered):
        commit = run.result.run.commit
        found.setdefault(commit.id if commit else f"run {number}", []).append(run)
    return tuple(
        Point(
            commit=commit.id if commit else "",
            branch=(commit.branch or "") if commit else "",
            start_unix_s=of[0].started_s,
            runs=tuple(of),
        )
        for of in found.values()
        for commit in [of[0].result.run.commit]
    )


def body(
    found: Sequence[Group],
    runs: Sequence[StudyRun],
    *,
    factor: float = FACTOR,
    unreadable: Sequence[Unread] = (),
) -> History:
    """The `history` object of study.json."""
    places = {run.label: place for place, run in enumerate(runs)}
    shown = tuple(_group(group, places, factor) for group in found)
    return History(
        factor=factor,
        level=LEVEL,
        least_points=least_points(),
        groups=shown,
        left_out=tuple(
            NotCounted(places[run.label], reason) for run in runs if (reason := left_out(run))
        ),
        programs=programs(run for run in runs if not left_out(run)),
        badge=badge(shown),
        unreadable=tuple(unreadable),
    )


def _group(group: Group, places: dict[str, int], factor: float) -> HistoryGroup:
    judged = _judged(group)
    losses = loss_series([point.runs for point in group.points], factor=factor)
    return HistoryGroup(
        label=group.label,
        command=group.command,
        ranks=group.ranks,
        batch_size=group.batch_size,
        programs=programs(run for point in group.points for run in point.runs),
        points=tuple(
            HistoryPoint(
                label=point.label,
                commit=point.commit or None,
                branch=point.branch or None,
                start_unix_s=point.start_unix_s,
                day=day(point.start_unix_s),
                runs=tuple(places[run.label] for run in point.runs),
            )
            for point in group.points
        ),
        judged=judged.id,
        series=tuple(_series(measure, group, factor) for measure in TRENDS),
        losses=losses,
        with_last_change=with_last_change(losses, trend(_values(judged, group), factor=factor)[0]),
    )


def _judged(group: Group) -> Measure:
    """The speed that most points have, of those that the newest point has, if it has any."""
    values = {measure.id: _values(measure, group) for measure in SPEEDS}
    newest = [measure for measure in SPEEDS if values[measure.id][-1] is not None]
    counts = {name: sum(value is not None for value in of) for name, of in values.items()}
    if not any(counts.values()):
        return WALL
    return max(newest or SPEEDS, key=lambda measure: counts[measure.id])


def _values(measure: Measure, group: Group) -> list[float | None]:
    """The median of each point's runs, None where no run has the number."""
    found: list[float | None] = []
    for point in group.points:
        known = [value for value in measure.values(point.runs) if value is not None and value > 0]
        found.append(float(np.median(known)) if known else None)
    return found


def _series(measure: Measure, group: Group, factor: float) -> Trend:
    values = _values(measure, group)
    changes, levels = trend(values, factor=factor)
    runs = [run for point in group.points for run in point.runs]
    return Trend(
        id=measure.id,
        label=measure.label,
        unit=measure.unit,
        is_lower_better=measure.is_lower_better,
        values=tuple(values),
        reason=None if levels else measure.reason(runs),
        changes=tuple(
            TrendChange(
                at=change.at,
                before=change.before,
                after=change.after,
                ratio=change.ratio,
                p=change.p,
                is_worse=(change.ratio > 1) == measure.is_lower_better,
            )
            for change in changes
        ),
        segments=levels,
    )


def newest_group(shown: Sequence[HistoryGroup]) -> HistoryGroup:
    """The group of the newest run: what is judged is what runs today, not what ran most often."""
    return max(shown, key=lambda group: group.points[-1].start_unix_s)


def badge(shown: Sequence[HistoryGroup]) -> Badge:
    """What a badge says of the group of the newest run."""
    from perfscope.studies.compare.labels import written  # noqa: PLC0415 - words only

    if not shown:
        return Badge("training", "no runs", "none")
    speed = newest_group(shown).speed
    if not speed.segments:
        return Badge(speed.label, "not measured", "none")
    level = written(speed.segments[-1].level, speed.unit)
    if not speed.changes:
        return Badge(speed.label, level, "info")
    last = speed.changes[-1]
    return Badge(
        speed.label, f"{level} ({format_change(last.ratio)})", "fail" if last.is_worse else "pass"
    )


def day(unix_s: float) -> str:
    """The day in UTC, as ISO writes it; "" for a time that no calendar holds."""
    try:
        return datetime.fromtimestamp(unix_s, tz=timezone.utc).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""
