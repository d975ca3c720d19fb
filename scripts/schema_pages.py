"""The declarations of analysis.json and study.json as pages for people: one table a structure."""

import re
from dataclasses import is_dataclass
from enum import Enum
from inspect import getdoc, getsource
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from perfscope.schema.check import key_of, kinds_of

PLAIN = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null"}


def structures(structure: Any) -> list[type]:
    """A structure and all that it holds, each once, where it is met first."""
    found: dict[type, None] = {}

    def visit(kind: Any) -> None:
        if is_dataclass(kind) and isinstance(kind, type) and kind not in found:
            found[kind] = None
            for part in kinds_of(kind).values():
                visit(part)
        for part in get_args(kind):
            visit(part)

    visit(structure)
    return list(found)


def described(structure: type) -> tuple[str, dict[str, str]]:
    """The text of a structure's docstring, and what stands of each field beside or above it."""
    said: dict[str, str] = {}
    for base in reversed(structure.__mro__[:-1]):
        above: list[str] = []
        for line in getsource(base).splitlines():
            declared = re.match(r"    (\w+): [^#]*(?:# (.*))?", line)
            if note := re.match(r"    # (.*)", line):
                above.append(note[1])
            elif declared and (beside := declared[2] or " ".join(above)):
                said[key_of(declared[1])] = beside
            if not note:
                above = []
    return getdoc(structure) or "", said


def page(structure: type, *, without: tuple[type, ...] = ()) -> str:
    """All structures of a document, but those that another page has."""
    chosen = [one for one in structures(structure) if one not in without]
    return "\n\n".join(_section(one, chosen) for one in chosen)


def _section(structure: type, chosen: list[type]) -> str:
    text, said = described(structure)
    rows = [
        f"| `{key}` | {_kind(kind, chosen)} | {said.get(key) or _first_line(kind)} |"
        for key, kind in kinds_of(structure).items()
    ]
    table = "\n".join(["| field | kind | meaning |", "|---|---|---|", *rows])
    return f"### {structure.__name__}\n\n{text}\n\n{table}"


def _first_line(kind: Any) -> str:
    """What the first structure in a kind is."""
    held = structures(kind)
    return described(held[0])[0].split("\n")[0].removesuffix(".") if held else ""


def _kind(kind: Any, chosen: list[type]) -> str:
    """A kind in words; a structure is a link to its section."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in PLAIN or kind is Any:
        return PLAIN.get(kind, "anything")
    if origin is Literal:
        return _values(inner)
    if is_dataclass(kind) and isinstance(kind, type):
        page = "" if kind in chosen else "analysis-json.md"
        return f"[{kind.__name__}]({page}#{kind.__name__.lower()})"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _values(one.value for one in kind)
    parts = [_kind(part, chosen) for part in inner if part is not Ellipsis]
    if origin is tuple:
        return f"list of {parts[0]}" if inner[-1] is Ellipsis else f"[{', '.join(parts)}]"
    return f"{parts[1]} by name" if origin is dict else " or ".join(parts)


def _values(values: Any) -> str:
    return ", ".join(f"`{value}`" for value in values)
