"""plan.json: what a sweep runs, in which order; a changed command does not fit it."""

import hashlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Final

import perfscope
from perfscope import files
from perfscope.errors import PerfscopeError, UnreadableInputError, UsageError
from perfscope.schema.read import NotAsDeclaredError, read_as, version_of
from perfscope.schema.run import Tool
from perfscope.schema.sweep import PlanAxis, PlanConfiguration, PlanFile
from perfscope.structures import dataclass
from perfscope.sweep.capacity import Demand
from perfscope.sweep.grid import (
    Axis,
    AxisKind,
    Configuration,
    shown_command,
    shown_environment,
    shown_values,
)
from perfscope.units import capitalized

SCHEMA_VERSION: Final = "1"
KIND: Final = "sweep-plan"
PLAN_FILE = "plan.json"
ORDER_SEED = 20_260_101
MOST_REPEATS = 1000
_MOST_BYTES = 256 << 20
_AS_STORED = (
    *("command", "cpus", "repeat", "recording", "time_limit_s", "search", "batch"),
    *("metric", "throughput", "directory"),
)
"""Fields of a plan that its file has as they are."""


@dataclass(frozen=True)
class Run:
    """One run of a plan: a configuration, and the how-manieth time it is run, from 1."""

    configuration: Configuration
    repeat: int

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.configuration.name}-r{self.repeat}"


@dataclass(frozen=True)
class Plan:
    """A sweep as it was asked for."""

    command: tuple[str, ...]  # the words behind --, with placeholders
    axes: tuple[Axis, ...]  # what is varied
    configurations: tuple[Configuration, ...]  # every combination
    refused: Mapping[int, str]  # why a configuration is not run, by number
    cpus: int | None  # CPUs that a job may use here; None where the runs are started elsewhere
    # ranks and threads that a configuration asks for, by number
    demands: Mapping[int, Demand] = field(default_factory=dict)
    repeat: int = 1  # runs of each configuration
    recording: tuple[str, ...] = ()  # options passed on to `perfscope run`
    time_limit_s: float | None = None  # most seconds of one run, None for no limit
    search: int | None = None  # configurations that a search may try, None for all of them
    # the repeats by which a search chooses, those of its beginning: later ones would make it choose
    # otherwise than before. None for `repeat`
    search_repeat: int | None = None
    batch: bool = False  # whether job scripts start the runs, and not this machine
    metric: str | None = None  # a regular expression for a value in the job's output, None for none
    throughput: str | None = None  # the same for its speed, None for the recorded one
    directory: str = ""  # the working directory of the command

    @property
    def identity(self) -> str:
        """A hash over what decides what a run does.

        More repeats, and configurations that are no longer refused, are the same plan.
        """
        what = {
            "command": self.command,
            "axes": [[axis.name, axis.kind.value, axis.values] for axis in self.axes],
            "configurations": [
                [c.command, sorted(c.environment.items())] for c in self.configurations
            ],
            "recording": self.recording,
            "time_limit_s": self.time_limit_s,
            "search": self.search,
            "batch": self.batch,
        }
        text = json.dumps(what, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def runs(self) -> Iterator[Run]:
        """All runs in the order in which they are started.

        Round by round, each configuration once a round, shuffled anew in every round with a fixed
        seed: what drifts with time meets all configurations alike. More repeats add rounds at the
        end and leave the earlier ones as they are.
        """
        allowed = [c for c in self.configurations if c.number not in self.refused]
        for repeat in range(1, self.repeat + 1):
            order = list(allowed)
            random.Random(ORDER_SEED + repeat).shuffle(order)
            for configuration in order:
                yield Run(configuration, repeat)

    def as_file(self) -> PlanFile:
        """The plan as it stands in plan.json."""
        return PlanFile(
            schema_version=SCHEMA_VERSION,
            kind=KIND,
            tool=Tool("perfscope", perfscope.__version__),
            identity=self.identity,
            shown_command=tuple(shown_command(self.command)),
            axes=tuple(_stored_axis(axis) for axis in self.axes),
            configurations=tuple(self._configuration(one) for one in self.configurations),
            search_repeat=self.search_repeat or self.repeat,
            **{name: getattr(self, name) for name in _AS_STORED},
        )

    def _configuration(self, one: Configuration) -> PlanConfiguration:
        asked = self.demands.get(one.number)
        return PlanConfiguration(
            number=one.number,
            name=one.name,
            label=one.label,
            values=dict(one.values),
            shown_values=shown_values(one.values),
            environment=dict(one.environment),
            shown_environment=shown_environment(one.environment),
            command=tuple(one.command),
            shown_command=tuple(shown_command(one.command)),
            ranks=asked.ranks if asked else None,
            threads=asked.threads if asked else None,
            is_here=asked.is_here if asked else None,
            refused=self.refused.get(one.number),
        )


def _stored_axis(axis: Axis) -> PlanAxis:
    shown = tuple(shown_values({axis.name: value})[axis.name] for value in axis.values)
    return PlanAxis(axis.name, axis.kind.value, values=axis.values, shown_values=shown)


def settle(place: Path, wanted: Plan) -> tuple[Plan, bool]:
    """The plan of a directory: stored when it is new, checked when there is one.

    Returns:
        The plan to follow, and whether it was there before. Of both plans the larger number of
        repeats counts, and what is refused is that of the new one.

    Raises:
        PerfscopeError: the directory holds another plan, or something that is no sweep.
    """
    path = place / PLAN_FILE
    if not path.exists():
        refuse_foreign(place)
        write(place, wanted)
        return wanted, False
    stored = read(place)
    if stored.identity != wanted.identity:
        raise UsageError(
            f"{place} holds another sweep.",
            why=f"Its {_difference(stored, wanted)}, and runs of two sweeps are not mixed.",
            action=f"Continue it with perfscope sweep --resume -o {place}, or give this one "
            "a directory of its own with -o DIR.",
        )
    followed = replace(
        stored,
        refused=wanted.refused,
        cpus=wanted.cpus,
        repeat=max(stored.repeat, wanted.repeat),
        metric=wanted.metric if wanted.metric is not None else stored.metric,
        throughput=wanted.throughput if wanted.throughput is not None else stored.throughput,
    )
    if followed != stored:
        write(place, followed)
    return followed, True


def refuse_foreign(place: Path) -> None:
    """Keeps a sweep out of a directory that holds other things.

    Raises:
        UsageError: it holds something, and no plan.
    """
    if (place / PLAN_FILE).exists():
        return
    known = {".lock", "working", "runs", f".{PLAN_FILE}.partial"}
    if place.is_dir() and (others := {path.name for path in place.iterdir()} - known):
        raise UsageError(
            f"{place} is no directory of a sweep.",
            why=f"It holds {min(others)!r} and no {PLAN_FILE}.",
            action="Choose a new or empty directory with -o DIR.",
        )


def _difference(stored: Plan, wanted: Plan) -> str:
    """What of two plans is not the same, in words."""
    if stored.command != wanted.command:
        return "command is not the same"
    if stored.axes != wanted.axes:
        names = [[axis.name for axis in plan.axes] for plan in (stored, wanted)]
        if names[0] != names[1]:
            return f"variables are {', '.join(names[0]) or 'none'}"
        pairs = zip(stored.axes, wanted.axes, strict=True)
        first = next(old for old, new in pairs if old != new)
        return f"values of {first.name} are {', '.join(first.values)}"
    for option, words in (
        ("time_limit_s", "--time-limit is not the same"),
        ("search", "--search is not the same"),
        ("recording", "--steps and --stop-after are not the same"),
        ("batch", "--sbatch is not the same"),
    ):
        if getattr(stored, option) != getattr(wanted, option):
            return words
    return "sets of configurations are not the same"


def write(place: Path, plan: Plan) -> None:
    """Writes plan.json, readable by its owner alone: a command may hold what others must not see.

    Raises:
        PerfscopeError: the directory cannot be written.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(plan.as_file()), ensure_ascii=True, indent=1) + "\n"
        files.replace_file(place / PLAN_FILE, text.encode("ascii"), mode=0o600, durable=True)
    except OSError as error:
        raise unwritable(place, error) from error


def unwritable(place: Path, error: OSError) -> PerfscopeError:
    """What the user reads when the directory of a sweep takes no file."""
    return UsageError(
        f"Cannot write {place}.",
        why=f"{error.strerror or error}.",
        action="Choose another directory: perfscope sweep -o DIR ... (finished runs are kept)",
    )


def read(place: Path) -> Plan:
    """The plan stored in a directory.

    Raises:
        UnreadableInputError: there is none, it is damaged, or of another version.
    """
    stored = read_file(place)
    plan = _plan(stored)
    if stored.identity != plan.identity:
        raise _no_plan(place / PLAN_FILE, "it was changed since it was written")
    return plan


def read_file(place: Path) -> PlanFile:
    """plan.json of a directory, as it stands there.

    Raises:
        UnreadableInputError: there is none, it is damaged, or of another version.
    """
    path = place / PLAN_FILE
    try:
        document = files.read_json(path, _MOST_BYTES)
    except FileNotFoundError as error:
        raise _no_plan(path, "it does not exist") from error
    except (OSError, ValueError) as error:
        raise _no_plan(path, f"it cannot be read: {error}") from error
    match document:
        case {"kind": "sweep-plan"}:
            if (version := version_of(document)) != SCHEMA_VERSION:
                raise _no_plan(path, f"its version is {version!r}")
        case _:
            raise _no_plan(path, "it is no plan of a sweep")
    try:
        found = read_as(document, PlanFile)
    except NotAsDeclaredError as error:
        raise _no_plan(path, f"it is damaged: {error}") from error
    if any("/" in one.name or one.name.startswith(".") for one in found.configurations):
        raise _no_plan(path, "a configuration has a name that is a path")
    return found


def _plan(stored: PlanFile) -> Plan:
    rows = stored.configurations
    return Plan(
        axes=tuple(Axis(axis.name, AxisKind(axis.kind), axis.values) for axis in stored.axes),
        configurations=tuple(
            Configuration(row.number, row.values, row.environment, row.command) for row in rows
        ),
        refused={row.number: row.refused for row in rows if row.refused},
        demands={
            row.number: Demand(row.ranks, row.threads, is_here=bool(row.is_here)) for row in rows
        },
        search_repeat=stored.search_repeat or stored.repeat,
        **{name: getattr(stored, name) for name in _AS_STORED},
    )


def _no_plan(path: Path, why: str) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path} cannot be followed.",
        why=f"{capitalized(why)}.",
        action="Name the directory of a sweep with -o DIR, or start one: perfscope sweep --help",
    )


def working_directory() -> str:
    """The current directory, as the plan keeps it."""
    return os.getcwd()  # noqa: PTH109 - a text of the plan
