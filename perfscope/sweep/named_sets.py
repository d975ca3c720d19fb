"""Named sets of a --configs file: environment, variables, launcher and command of each."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfscope import files
from perfscope.errors import UsageError
from perfscope.sweep.grid import NamedSet
from perfscope.units import capitalized

MOST_BYTES = 1 << 20
MOST_SETS = 1000
LONGEST_NAME = 100
KEYS = ("env", "var", "launcher", "command")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXAMPLE = "mpich:\n  env: {OMP_NUM_THREADS: 2}\n  launcher: mpirun -n {ranks}"


def read_sets(path: Path) -> list[NamedSet]:
    """The sets of a YAML file, in its order.

    Every value is taken as it is written: `on` stays `on`, `010` stays `010`; `null` takes a
    variable out of the environment.

    Raises:
        UsageError: the file cannot be read, is no YAML, or holds something else than sets.
    """
    document = _load(path)
    if not isinstance(document, dict) or not document:
        raise _wrong(path, "it holds no mapping of names to sets")
    if len(document) > MOST_SETS:
        raise _wrong(path, f"it holds {len(document):,} sets, more than {MOST_SETS:,}")
    return [_named_set(path, name, content) for name, content in document.items()]


def _load(path: Path) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra, and only this option needs it
    except ImportError as error:
        raise UsageError(
            "A --configs file cannot be read here.",
            why="The package PyYAML is not installed.",
            action="python3 -m pip install pyyaml",
        ) from error
    try:
        content = files.read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise _wrong(path, f"it cannot be read: {error.strerror}") from error
    try:
        return yaml.load(content, Loader=_loader(yaml))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _wrong(path, f"{place}{problem}") from error
    except (RecursionError, ValueError) as error:
        raise _wrong(path, "it is nested too deeply or holds a senseless value") from error


def _loader(yaml: Any) -> Any:
    """A safe loader in which every scalar but null is text, and no key counts twice."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            """A mapping whose keys are texts, each once."""
            seen: set[str] = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(
                        None, None, "a name must be plain text", key.start_mark
                    )
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{key.value!r} stands here twice", key.start_mark
                    )
                seen.add(key.value)
            found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return found

    kept = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in kept]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _named_set(path: Path, name: Any, content: Any) -> NamedSet:
    is_name = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
    if not is_name:
        raise _wrong(path, f"{str(name)[:50]!r} is no name of a set")
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise _wrong(path, f"set {name!r} is not a mapping of {', '.join(KEYS)}")
    for key in content:
        if key not in KEYS:
            raise _wrong(path, f"set {name!r} holds {str(key)[:50]!r}, known are {', '.join(KEYS)}")
    where = f"set {name!r}"
    env, var, launcher, command = map(content.get, KEYS)
    variables = _texts(path, f"{where}, var", var)
    for key, value in variables.items():
        if value is None:
            raise _wrong(path, f"{where}: the variable {key!r} has no value")
    return NamedSet(
        name,
        _texts(path, f"{where}, env", env),
        {key: value for key, value in variables.items() if value is not None},
        launcher=_command(path, f"{where}, launcher", launcher),
        command=_command(path, f"{where}, command", command),
    )


def _texts(path: Path, where: str, found: Any) -> Mapping[str, str | None]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _wrong(path, f"{where} is not a mapping of names to values")
    for key, value in found.items():
        if not isinstance(key, str) or not _VARIABLE.fullmatch(key):
            raise _wrong(path, f"{where}: {str(key)[:50]!r} is no name of a variable")
        if value is not None and not _is_text(value):
            raise _wrong(path, f"{where}: the value of {key} is not plain text")
    return dict(found)


def _command(path: Path, where: str, found: Any) -> tuple[str, ...] | None:
    if found is None:
        return None
    if isinstance(found, str):
        try:
            found = shlex.split(found)
        except ValueError as error:
            raise _wrong(path, f"{where}: {str(error).lower()}") from error
    if not isinstance(found, list) or not found or not all(map(_is_text, found)):
        raise _wrong(path, f"{where} is not a command line")
    return tuple(found)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _wrong(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} holds no sets of configurations.",
        why=f"{capitalized(why)}.".replace("..", "."),
        action="Write one set a name, like " + " / ".join(_EXAMPLE.splitlines()),
    )
