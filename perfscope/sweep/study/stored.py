"""What a sweep left on disk: its plan, and how each of its runs ended."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from perfscope.schema.sweep import KindOfAxis, PlanConfiguration
from perfscope.schema.sweep_result import StartedConfiguration
from perfscope.structures import dataclass
from perfscope.sweep.outcome import OUTCOME_FILE, record
from perfscope.sweep.plan import MOST_REPEATS, read_file

RUNS = "runs"
OUTPUT_FILES = ("stdout.txt", "stderr.txt")
_AS_STORED = ("cpus", "recording", "time_limit_s", "search", "batch", "search_repeat")
FINISHED, KILLED = "finished", "killed"
OUT_OF_MEMORY, TIME_LIMIT = "out_of_memory", "time_limit"


@dataclass(frozen=True)
class Axis:
    """One thing that was varied."""

    name: str
    kind: KindOfAxis
    values: tuple[str, ...]

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers; None unless all are, and they rise or fall throughout."""
        try:
            found = tuple(float(value) for value in self.values)
        except ValueError:
            return None
        rising = all(a < b for a, b in itertools.pairwise(found))
        falling = all(a > b for a, b in itertools.pairwise(found))
        return found if rising or falling else None


@dataclass(frozen=True)
class Configuration(StartedConfiguration):
    """One point of the grid, as its runs are told from others."""

    name: str  # beginning of the names of its runs
    refused: str | None  # why it was not run, None when it was to be run

    @property
    def threads_in_all(self) -> int | None:
        """Threads of all ranks, one a rank where nothing says more."""
        return None if self.ranks is None else self.ranks * (self.threads or 1)


@dataclass(frozen=True)
class StoredPlan:
    """plan.json, as far as a study needs it."""

    place: Path
    command: tuple[str, ...]
    axes: tuple[Axis, ...]
    configurations: tuple[Configuration, ...]
    cpus: int | None
    repeat: int
    recording: tuple[str, ...]
    time_limit_s: float | None
    search: int | None
    batch: bool
    metric: str | None
    throughput: str | None
    search_repeat: int | None = None


@dataclass(frozen=True)
class StoredRun:
    """A finished run: how it ended and where its recording is."""

    name: str  # of its directory
    configuration: int  # number of its configuration
    repeat: int  # the how-manieth run of it, from 1
    end: str  # `finished`, `out_of_memory`, `killed`, `exit_code`, `time_limit`, `not_started`
    reason: str  # the same in words
    wall_s: float | None  # from its start to its end
    recording: Path | None  # its directory, None when it left none


def read_plan(place: Path) -> StoredPlan:
    """The plan in the directory of a sweep.

    Raises:
        UnreadableInputError: there is none, it is damaged, or of another version.
    """
    found = read_file(place)
    axes = tuple(Axis(axis.name, axis.kind, axis.shown_values) for axis in found.axes)
    varied = [axis for axis in axes if len(axis.values) > 1]
    return StoredPlan(
        place=place,
        command=found.shown_command,
        axes=axes,
        configurations=tuple(_configuration(one, varied) for one in found.configurations),
        repeat=min(found.repeat, MOST_REPEATS),
        metric=found.metric or None,
        throughput=found.throughput or None,
        **{name: getattr(found, name) for name in _AS_STORED},
    )


def _configuration(one: PlanConfiguration, varied: Sequence[Axis]) -> Configuration:
    return Configuration(
        number=one.number,
        name=one.name,
        label=_label(one, varied),
        values=one.shown_values,
        environment=one.shown_environment,
        command=one.shown_command,
        ranks=one.ranks,
        threads=one.threads,
        refused=one.refused or None,
    )


def _label(one: PlanConfiguration, varied: Sequence[Axis]) -> str:
    """The values that vary; secrets look the same, so the number tells their configurations."""
    shown = {axis.name: one.shown_values.get(axis.name, "") for axis in varied}
    label = ", ".join(
        shown[axis.name] if axis.kind == "set" else f"{axis.name}={shown[axis.name]}"
        for axis in varied
    )
    is_hidden = any(value != one.values.get(name) for name, value in shown.items())
    return f"{label} (configuration {one.number})" if is_hidden else label


def read_runs(plan: StoredPlan) -> list[StoredRun]:
    """The finished runs, by configuration and repeat."""
    found = []
    for configuration in plan.configurations:
        for repeat in range(1, plan.repeat + 1):
            run = read_run(plan, configuration, repeat)
            if run is not None:
                found.append(run)
    return found


def read_run(plan: StoredPlan, configuration: Configuration, repeat: int) -> StoredRun | None:
    """One finished run; None when it is not there."""
    directory = plan.place / RUNS / f"{configuration.name}-r{repeat}"
    if not (directory / OUTCOME_FILE).exists():
        return None
    found = record(directory)
    recording = directory / "recording"
    is_recorded = found is not None and found.recording and recording.is_dir()
    return StoredRun(
        name=directory.name,
        configuration=configuration.number,
        repeat=repeat,
        end=found.end if found else "unknown",
        reason=found.reason if found else "its record cannot be read",
        wall_s=found.wall_s if found else None,
        recording=recording if is_recorded else None,
    )
