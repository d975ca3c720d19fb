"""From the options of `perfscope sweep` to the plan that it follows."""

import os
import re
from dataclasses import replace
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.structures import dataclass
from perfscope.sweep import capacity, grid, named_sets, search
from perfscope.sweep import plan as plans
from perfscope.sweep.plan import Plan


@dataclass(frozen=True)
class Asked:
    """What the options ask of a plan, by their names."""

    environment: tuple[str, ...]
    variables: tuple[str, ...]
    configs: Path | None
    repeat: int | None
    steps: tuple[int, int | None] | None
    stop_after: int | None
    time_limit: float | None
    oversubscribe: bool
    search: int | None
    metric: str | None
    throughput: str | None


def stored(place: Path, asked: Asked) -> Plan:
    """The plan in a directory, with more repeats or another --metric where asked for.

    Raises:
        PerfscopeError: there is none, or an option asks for another sweep.
    """

    mutable = {"repeat", "metric", "throughput", "oversubscribe"}
    for name, value in vars(asked).items():
        if value not in (None, (), False) and name not in mutable:
            raise UsageError(
                "--resume continues the sweep as it was started.",
                why="Finished runs would not match other configurations or limits.",
                action="Give only -o, --repeat and --metric, or start a new sweep with -o DIR.",
            )
    found = plans.read(place)
    return replace(
        found,
        repeat=max(found.repeat, asked.repeat or 1),
        metric=checked_pattern("--metric", asked.metric) or found.metric,
        throughput=checked_pattern("--throughput", asked.throughput) or found.throughput,
        refused={} if asked.oversubscribe else found.refused,
    )


def planned(command: tuple[str, ...], asked: Asked, *, is_batch: bool) -> Plan:
    """The plan that the command line asks for.

    Raises:
        UsageError: it makes no sense.
    """

    axes = [grid.parse_axis(text, grid.AxisKind.ENVIRONMENT) for text in asked.environment]
    axes += [grid.parse_axis(text, grid.AxisKind.VARIABLE) for text in asked.variables]
    sets = named_sets.read_sets(asked.configs) if asked.configs is not None else []
    configurations = grid.expand(command, axes, sets)
    cpus = None if is_batch else capacity.cpus_allowed()
    demands = capacity.demands(configurations, os.environ)
    refused: dict[int, str] = {}
    if cpus is not None and not asked.oversubscribe:
        refused = capacity.refusals(demands, cpus=cpus)
        _refuse_nothing_left(len(configurations), refused)
    if asked.search is not None:
        search.load()
    return plans.Plan(
        command=command,
        axes=grid.all_axes(axes, sets),
        configurations=tuple(configurations),
        refused=refused,
        cpus=cpus,
        demands=demands,
        repeat=asked.repeat or 1,
        recording=_recording(asked),
        time_limit_s=asked.time_limit,
        search=asked.search,
        batch=is_batch,
        metric=checked_pattern("--metric", asked.metric),
        throughput=checked_pattern("--throughput", asked.throughput),
        directory=plans.working_directory(),
    )


def _refuse_nothing_left(count: int, refused: dict[int, str]) -> None:
    if len(refused) < count:
        return
    which = "The configuration asks" if count == 1 else f"All {count:,} configurations ask"
    raise UsageError(
        f"{which} for more threads than there are CPUs.",
        why=f"{next(iter(refused.values()))}: threads that wait for a CPU say nothing about speed.",
        action="Ask for fewer ranks or threads, or add --oversubscribe to run them anyway.",
    )


def _recording(asked: Asked) -> tuple[str, ...]:
    words: list[str] = []
    if asked.steps is not None:
        first, end = asked.steps
        words += ["--steps", f"{first}:{'' if end is None else end}"]
    if asked.stop_after is not None:
        words += ["--stop-after", str(asked.stop_after)]
    return tuple(words)


def checked_pattern(option: str, pattern: str | None) -> str | None:
    """A regular expression with a group, None for none.

    Raises:
        UsageError: it is none.
    """

    if pattern is None:
        return None
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{option} {pattern!r} is not a regular expression.",
            why=f"{error}.",
            action=f"Write it as {option} 'accuracy ([0-9.]+)'.",
        ) from error
    if groups < 1:
        raise UsageError(
            f"{option} {pattern!r} has no group.",
            why="The number is taken from the first pair of parentheses.",
            action=f"Write it as {option} 'accuracy ([0-9.]+)'.",
        )
    return pattern
