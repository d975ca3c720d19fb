"""The configurations of a sweep: every combination of its axes and named sets."""

import csv
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum

from perfscope.errors import UsageError
from perfscope.record.redact import redact_command, redact_variable
from perfscope.structures import dataclass
from perfscope.sweep import placeholders

MOST_CONFIGURATIONS = 10_000
LONGEST_SLUG = 60
SET_AXIS = "set"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9._=+]+")


class AxisKind(Enum):
    """What the values of an axis are."""

    ENVIRONMENT = "environment"  # values of an environment variable
    VARIABLE = "variable"  # texts in the place of a {placeholder}
    SET = "set"  # names of sets of a --configs file


@dataclass(frozen=True)
class Axis:
    """One thing that is varied."""

    name: str  # of the environment variable or of the placeholder; "set" for named sets
    kind: AxisKind  # what the values are
    values: tuple[str, ...]  # in the order given


@dataclass(frozen=True)
class NamedSet:
    """A configuration with a name, from a --configs file."""

    name: str  # how reports call it
    # variables that are set; None takes one out of the environment
    environment: Mapping[str, str | None] = field(default_factory=dict)
    # texts in the place of {placeholders}
    variables: Mapping[str, str] = field(default_factory=dict)
    # words in front of the command, such as another library's mpirun; None for none
    launcher: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None  # words instead of the command; None keeps it


@dataclass(frozen=True)
class Configuration:
    """One point of the sweep."""

    number: int  # from 1, in the order of the grid
    values: Mapping[str, str]  # of each axis, as shown
    environment: Mapping[str, str | None]  # variables that are set; None takes one out
    command: tuple[str, ...]  # the words that are started

    @property
    def label(self) -> str:
        """The values in one line: `OMP_NUM_THREADS=2, ranks=1`, of a set its name alone."""
        shown = shown_values(self.values)
        text = ", ".join(v if k == SET_AXIS else f"{k}={v}" for k, v in shown.items())
        is_hidden = shown != self.values  # what differs cannot be seen: the number tells them apart
        return f"{text} (configuration {self.number})" if is_hidden else text

    @property
    def name(self) -> str:
        """A name for files: the number, and as much of the values as is safe."""
        parts = [v if k == SET_AXIS else f"{k}={v}" for k, v in shown_values(self.values).items()]
        safe = "-".join(_UNSAFE.sub("_", part) for part in parts)[:LONGEST_SLUG]
        return f"{self.number:03d}-{safe}"


def shown_values(values: Mapping[str, str]) -> dict[str, str]:
    """The values of axes without secrets."""
    return {name: redact_variable(name, value) for name, value in values.items()}


def shown_command(command: Sequence[str]) -> list[str]:
    """The words of a command without secrets."""
    return redact_command(list(command))


def shown_environment(environment: Mapping[str, str | None]) -> dict[str, str | None]:
    """Variables without secrets; None for one that is taken out."""
    return {
        name: None if value is None else redact_variable(name, value)
        for name, value in environment.items()
    }


def parse_axis(text: str, kind: AxisKind) -> Axis:
    """The axis of an --env or --var option.

    Raises:
        UsageError: the text names nothing, or no values, or one of them twice.
    """
    option = "--env" if kind is AxisKind.ENVIRONMENT else "--var"
    name, separator, listed = text.partition("=")
    example = f"{option} {'OMP_NUM_THREADS' if option == '--env' else 'ranks'}=1,2,4"
    if not separator or not _NAME.fullmatch(name) or "\0" in listed:
        raise UsageError(
            f"{option} {text!r} is not NAME=VALUE,VALUE...",
            why="A name is made of letters, digits and underscores, and values follow after =.",
            action=f"Write it as {example}; a value that holds a comma stands in double quotes.",
        )
    try:
        values = next(csv.reader([listed], strict=True), []) or [""]
    except csv.Error as error:
        raise UsageError(
            f"The values of {option} {text!r} cannot be read.",
            why=f"Their quotes do not match: {error}.",
            action=f"""Quote a value that holds a comma: {option} '{name}="a,b",c'.""",
        ) from error
    _refuse_twins(f"{option} {name}", values)
    return Axis(name, kind, tuple(values))


def _refuse_twins(what: str, values: Sequence[str]) -> None:
    twins = sorted({value for value in values if list(values).count(value) > 1})
    if twins:
        raise UsageError(
            f"{what} has the value {twins[0]!r} twice.",
            why="Every configuration is run once a repeat, so equal ones cannot be told apart.",
            action="Leave one of them out; --repeat N runs each configuration N times.",
        )


def all_axes(axes: Sequence[Axis], sets: Sequence[NamedSet]) -> tuple[Axis, ...]:
    """The axes with that of the named sets in front.

    Raises:
        UsageError: a name stands for two axes.
    """
    own = (Axis(SET_AXIS, AxisKind.SET, tuple(s.name for s in sets)),) if sets else ()
    every = (*own, *axes)
    names = [axis.name for axis in every]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"{name!r} is given twice.",
                why="Each axis of a sweep has a name of its own"
                + (f", and {SET_AXIS!r} stands for the sets of --configs." if sets else "."),
                action="Put all values into one option, or use another name.",
            )
    return every


def expand(
    command: Sequence[str], axes: Sequence[Axis], sets: Sequence[NamedSet]
) -> list[Configuration]:
    """Every combination of named sets and values, the last axis varying fastest.

    Raises:
        UsageError: too many, no command, or a placeholder that is unknown or not used.
    """
    every = all_axes(axes, sets)
    _refuse_too_many(every)
    _refuse_unused(command, axes, sets)
    by_name = {named.name: named for named in sets}
    found = []
    for number, values in enumerate(_combinations(every), start=1):
        named = by_name.get(values.get(SET_AXIS, "")) or NamedSet("")
        found.append(_configuration(number, values, command, axes, named))
    return found


def _combinations(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    for values in itertools.product(*(axis.values for axis in axes)):
        yield {axis.name: value for axis, value in zip(axes, values, strict=True)}


def _configuration(
    number: int,
    values: Mapping[str, str],
    command: Sequence[str],
    axes: Sequence[Axis],
    named: NamedSet,
) -> Configuration:
    variables = {
        **named.variables,
        **{axis.name: values[axis.name] for axis in axes if axis.kind is AxisKind.VARIABLE},
    }
    environment: dict[str, str | None] = {
        **named.environment,
        **{axis.name: values[axis.name] for axis in axes if axis.kind is AxisKind.ENVIRONMENT},
    }
    words = _words(command, named)
    if not words:
        raise UsageError(
            "There is no command to run.",
            why=f"Set {named.name!r} brings none, and nothing follows --."
            if named.name
            else "Nothing follows --.",
            action="perfscope sweep --env OMP_NUM_THREADS=1,2,4 -- mpirun -n 2 python train.py",
        )
    return Configuration(
        number,
        dict(values),
        {
            name: text if text is None else placeholders.fill(text, variables)
            for name, text in environment.items()
        },
        tuple(placeholders.fill(word, variables) for word in words),
    )


def _words(command: Sequence[str], named: NamedSet) -> list[str]:
    return [*(named.launcher or ()), *(named.command if named.command is not None else command)]


def _refuse_too_many(axes: Sequence[Axis]) -> None:
    count = 1
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_CONFIGURATIONS:
        raise UsageError(
            f"The grid has {count:,} configurations.",
            why=f"A sweep holds at most {MOST_CONFIGURATIONS:,}.",
            action="Leave out values, or sweep some of the variables after the others.",
        )


def _refuse_unused(command: Sequence[str], axes: Sequence[Axis], sets: Sequence[NamedSet]) -> None:
    """A variable that stands nowhere would give runs that are all the same."""
    texts = [*command, *(v for a in axes if a.kind is AxisKind.ENVIRONMENT for v in a.values)]
    for named in sets:
        texts += _words(command, named)
        texts += [text for text in named.environment.values() if text is not None]
    used = {name for text in texts for name in placeholders.names(text)}
    known = {axis.name for axis in axes if axis.kind is AxisKind.VARIABLE}
    for name in sorted(known - used):
        raise UsageError(
            f"The variable {name!r} stands nowhere in the command.",
            why=f"--var {name}=... is put in the place of {{{name}}}; ${{{name}}} is the shell's.",
            action=f"Write {{{name}}} where its values belong, or leave --var {name} out.",
        )
