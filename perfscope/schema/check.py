"""Compares a document with its declaration: what is missing, not declared or of another kind."""

import math
import reprlib
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Metric


def problems(
    document: Any, kind: Any = Analysis, path: str = "", *, is_whole: bool = True
) -> Iterator[str]:
    """What of a document, as read from JSON, is not as declared; one line each.

    `path` is where the part stands. Unless it `is_whole`, only what is of another kind is a
    problem, as another release may declare more or less.
    """
    origin = get_origin(kind)
    if kind is Any:
        return
    if origin in {Union, UnionType}:
        yield from problems(document, chosen(document, get_args(kind)), path, is_whole=is_whole)
    elif is_dataclass(kind):
        yield from _of_object(document, kind, path, is_whole=is_whole)
    elif origin is tuple:
        yield from _of_items(document, get_args(kind), path, is_whole=is_whole)
    elif origin is dict:
        yield from _of_map(document, get_args(kind)[1], path, is_whole=is_whole)
    elif not _is_a(document, kind):
        yield f"{path}: {reprlib.repr(document)} is no {getattr(kind, '__name__', kind)}"


@cache
def kinds_of(structure: type) -> dict[str, Any]:
    """The declared kind of each field of a structure, by its key in a document."""
    return {key_of(name): kind for name, kind in get_type_hints(structure).items()}


def key_of(name: str) -> str:
    """The key of a field: a word of Python has a `_` behind it, as in `from_`."""
    return name.removesuffix("_")


def chosen(document: Any, kinds: tuple[Any, ...]) -> Any:
    """Which kind of several is meant: the one without a problem, else with most of the keys."""
    if document is None and NoneType in kinds:
        return NoneType
    meant = [kind for kind in kinds if kind is not NoneType]
    if len(meant) == 1:
        return meant[0]
    if not isinstance(document, dict):
        return next((one for one in meant if not any(problems(document, one))), meant[0])
    held = document.keys()
    return max(meant, key=lambda one: (len(held & _keys(one)), -len(held ^ _keys(one))))


def _keys(kind: Any) -> set[str]:
    return {key_of(field.name) for field in fields(kind)} if is_dataclass(kind) else set()


def _of_object(document: Any, kind: Any, path: str, *, is_whole: bool) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"{path}: no object"
        return
    declared = kinds_of(kind)
    needed = {key_of(field.name) for field in fields(kind) if field.default is MISSING}
    if is_whole and (missing := needed - document.keys()):
        yield f"{path}: without {sorted(missing)}"
    if is_whole and (extra := document.keys() - declared.keys()):
        yield f"{path}: not declared: {sorted(extra)}"
    for name, one in declared.items():
        if name in document:
            yield from problems(document[name], one, f"{path}.{name}", is_whole=is_whole)
    if is_whole and kind is Metric and document.get("value") is None and not document.get("reason"):
        yield f"{path}: null without a reason"


def _of_items(document: Any, items: tuple[Any, ...], path: str, *, is_whole: bool) -> Iterator[str]:
    if not isinstance(document, list):
        yield f"{path}: no list"
        return
    is_any_length = items[-1] is Ellipsis
    if not is_any_length and len(document) != len(items):
        yield f"{path}: {len(document)} items instead of {len(items)}"
    each = items[:1] * len(document) if is_any_length else items
    for index, (value, one) in enumerate(zip(document, each, strict=False)):
        yield from problems(value, one, f"{path}[{index}]", is_whole=is_whole)


def _of_map(document: Any, kind: Any, path: str, *, is_whole: bool) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"{path}: no object"
        return
    for key, value in document.items():
        yield from problems(value, kind, f"{path}.{key}", is_whole=is_whole)


def _is_a(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is NoneType:
        return value is None
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and _is_finite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if issubclass(kind, Enum):
        return any(one.value == value for one in kind)
    return isinstance(value, kind)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False
