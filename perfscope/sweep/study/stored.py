"""What a sweep left on disk: its plan, and how each of its runs ended."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfscope import files
from perfscope.errors import UnreadableInputError
from perfscope.sweep.study import fields

Json = dict[str, Any]
PLAN_FILE = "plan.json"
OUTCOME_FILE = "outcome.json"
RUNS = "runs"
OUTPUT_FILES = ("stdout.txt", "stderr.txt")
SCHEMA_VERSION = "1"
KIND = "sweep-plan"
FINISHED, KILLED = "finished", "killed"
OUT_OF_MEMORY, TIME_LIMIT = "out_of_memory", "time_limit"
_MOST_BYTES = 256 << 20
_MOST_REPEATS = 1000


@dataclass(frozen=True)
class Axis:
    """One thing that was varied; `kind` is `environment`, `variable` or `set`."""

    name: str
    kind: str
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
class Configuration:
    """One point of the grid, as shown: secrets are redacted.

    Attributes:
        number: from 1, in the order of the grid.
        name: beginning of the names of its runs.
        label: its values in one line, as far as they vary.
        values: by axis.
        environment: variables that were set; None for one that was taken out.
        command: its words.
        ranks: that the command asks for, None where it does not say.
        threads: that each rank was told to use, None where nothing says.
        refused: why it was not run, None when it was to be run.
    """

    number: int
    name: str
    label: str
    values: Mapping[str, str]
    environment: Mapping[str, str | None]
    command: tuple[str, ...]
    ranks: int | None
    threads: int | None
    refused: str | None

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
    """A finished run: how it ended and where its recording is.

    Attributes:
        name: of its directory.
        configuration: number of its configuration.
        repeat: the how-manieth run of it, from 1.
        end: `finished`, `out_of_memory`, `killed`, `exit_code`, `time_limit`, `not_started`.
        reason: the same in words.
        wall_s: from its start to its end.
        recording: its directory, None when it left none.
    """

    name: str
    configuration: int
    repeat: int
    end: str
    reason: str
    wall_s: float | None
    recording: Path | None


def read_plan(place: Path) -> StoredPlan:
    """The plan in the directory of a sweep.

    Raises:
        UnreadableInputError: there is none, it is damaged, or of another version.
    """
    path = place / PLAN_FILE
    try:
        document = files.read_json(path, _MOST_BYTES)
        if fields.text(document, "kind") != KIND:
            raise ValueError("it is no plan of a sweep")
        if document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"its version is {document['schema_version']!r}")
        return _plan(place, document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableInputError(
            f"{path} is no plan of a sweep that can be read.",
            why=f"{type(error).__name__}: {why}.",
            action="Name the directory of a sweep: perfscope sweep --resume -o DIR",
        ) from error


def _plan(place: Path, document: Json) -> StoredPlan:
    axes = tuple(
        Axis(str(row["name"]), str(row["kind"]), tuple(map(str, row["shown_values"])))
        for row in document["axes"]
    )
    return StoredPlan(
        place=place,
        command=tuple(map(str, document["shown_command"])),
        axes=axes,
        configurations=tuple(
            _configuration(row, [axis for axis in axes if len(axis.values) > 1])
            for row in document["configurations"]
        ),
        cpus=fields.integer(document, "cpus"),
        repeat=min(int(document["repeat"]), _MOST_REPEATS),
        recording=tuple(map(str, document["recording"])),
        time_limit_s=fields.number(document, "time_limit_s"),
        search=fields.integer(document, "search"),
        batch=document["batch"] is True,
        metric=fields.text(document, "metric") or None,
        throughput=fields.text(document, "throughput") or None,
        search_repeat=fields.integer(document, "search_repeat"),
    )


def _configuration(row: Json, varied: Sequence[Axis]) -> Configuration:
    name = str(row["name"])
    if "/" in name or name.startswith("."):
        raise ValueError("a configuration has a name that is a path")
    values = {str(key): str(value) for key, value in row["shown_values"].items()}
    return Configuration(
        number=int(row["number"]),
        name=name,
        label=_label(row, values, varied),
        values=values,
        environment={
            str(key): None if value is None else str(value)
            for key, value in row["shown_environment"].items()
        },
        command=tuple(map(str, row["shown_command"])),
        ranks=fields.integer(row, "ranks"),
        threads=fields.integer(row, "threads"),
        refused=fields.text(row, "refused") or None,
    )


def _label(row: Json, values: Mapping[str, str], varied: Sequence[Axis]) -> str:
    """The values that vary; secrets look the same, so the number tells their configurations."""
    label = ", ".join(
        values[axis.name] if axis.kind == "set" else f"{axis.name}={values[axis.name]}"
        for axis in varied
    )
    given = row.get("values", {})
    is_hidden = any(values[axis.name] != given.get(axis.name) for axis in varied)
    return f"{label} (configuration {row['number']:d})" if is_hidden else label


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
    try:
        facts = files.read_json(directory / OUTCOME_FILE, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        facts = {}
    recording = directory / "recording"
    return StoredRun(
        name=directory.name,
        configuration=configuration.number,
        repeat=repeat,
        end=fields.text(facts, "end") or "unknown",
        reason=fields.text(facts, "reason") or "its record cannot be read",
        wall_s=fields.number(facts, "wall_s"),
        recording=recording if fields.text(facts, "recording") and recording.is_dir() else None,
    )
