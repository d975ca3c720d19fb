"""Compares a document with its declaration: what is missing, not declared or of another kind."""

import reprlib
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
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
    if not _check_of(kind, is_whole)(document):
        yield from _told(document, kind, path, is_whole=is_whole)


def _told(document: Any, kind: Any, path: str, *, is_whole: bool) -> Iterator[str]:
    """The problems, of a document that is walked through for them."""
    origin = get_origin(kind)
    if kind is Any:
        return
    if origin in {Union, UnionType}:
        yield from _told(document, chosen(document, get_args(kind)), path, is_whole=is_whole)
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
            yield from _told(document[name], one, f"{path}.{name}", is_whole=is_whole)
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
        yield from _told(value, one, f"{path}[{index}]", is_whole=is_whole)


def _of_map(document: Any, kind: Any, path: str, *, is_whole: bool) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"{path}: no object"
        return
    for key, value in document.items():
        yield from _told(value, kind, f"{path}.{key}", is_whole=is_whole)


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
        return isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


_Check = Callable[[Any], bool]
"""Whether a part of a document is as declared: most are, and their problems are not told."""


@cache
def _check_of(kind: Any, is_whole: bool) -> _Check:
    """What tells it of a kind, made once: looking a declaration up takes longer than comparing."""
    origin = get_origin(kind)
    if kind is Any:
        return lambda _: True
    if origin in {Union, UnionType}:
        return _check_of_one(get_args(kind), is_whole=is_whole)
    if is_dataclass(kind):
        return _check_of_object(kind, is_whole=is_whole)
    if origin is tuple:
        return _check_of_items(get_args(kind), is_whole=is_whole)
    if origin is dict:
        return _check_of_map(get_args(kind)[1], is_whole=is_whole)
    return _check_of_value(kind)


def _check_of_value(kind: Any) -> _Check:
    if kind is float:
        return lambda value: (type(value) is float and isfinite(value)) or _is_a(value, kind)
    if kind in {int, str}:
        return lambda value: type(value) is kind or _is_a(value, kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        values = [one.value for one in kind]
        return lambda value: value in values
    return lambda value: _is_a(value, kind)


def _check_of_one(kinds: tuple[Any, ...], *, is_whole: bool) -> _Check:
    meant = [_check_of(kind, is_whole) for kind in kinds if kind is not NoneType]
    may_be_none = NoneType in kinds
    if len(meant) == 1:
        (only,) = meant
        return lambda value: (may_be_none and value is None) or only(value)
    return lambda value: _check_of(chosen(value, kinds), is_whole)(value)


def _check_of_object(kind: Any, *, is_whole: bool) -> _Check:
    needed = {key_of(field.name) for field in fields(kind) if field.default is MISSING}
    checks: dict[str, _Check] = {}

    def check(document: Any) -> bool:
        if not checks:  # a structure may have parts of its own kind
            checks.update({name: _check_of(one, is_whole) for name, one in kinds_of(kind).items()})
        if not isinstance(document, dict) or (is_whole and not document.keys() >= needed):
            return False
        for name, value in document.items():
            if not (checks[name](value) if name in checks else not is_whole):
                return False
        has_reason = document.get("value") is not None or bool(document.get("reason"))
        return has_reason or not is_whole or kind is not Metric

    return check


def _check_of_items(items: tuple[Any, ...], *, is_whole: bool) -> _Check:
    if items[-1] is Ellipsis:
        each = _check_of(items[0], is_whole)
        return lambda document: isinstance(document, list) and all(map(each, document))
    checks = [_check_of(item, is_whole) for item in items]

    def check(document: Any) -> bool:
        is_as_long = isinstance(document, list) and len(document) == len(checks)
        return is_as_long and all(one(value) for one, value in zip(checks, document, strict=True))

    return check


def _check_of_map(kind: Any, *, is_whole: bool) -> _Check:
    check = _check_of(kind, is_whole)
    return lambda document: isinstance(document, dict) and all(map(check, document.values()))
