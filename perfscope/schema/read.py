"""Reads a document, as it comes from JSON, into the structures that it is declared with."""

from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from math import nan
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from perfscope.schema.analysis import Analysis
from perfscope.schema.check import chosen, key_of, kinds_of, problems
from perfscope.schema.common import NO_REASON, Metric
from perfscope.schema.losses import Losses

One = TypeVar("One")
PLAIN = {(kind, ...) for kind in (int, float, str, bool)}
"""Of lists whose items are taken as they are."""


class NotAsDeclaredError(ValueError):
    """A document is not what its declaration says: what is wrong with it, and where."""


def version_of(document: Any) -> Any:
    """The version of its declaration that a document names; None where it names none."""
    return document.get("schema_version") if isinstance(document, dict) else None


def read_analysis(document: Any) -> Analysis:
    """The result of a run.

    Raises:
        NotAsDeclaredError: something is missing, not declared or of another kind.
    """
    return read_as(document, Analysis)


def read_known(document: Any) -> Analysis:
    """The same of a result of any release: what it does not hold is filled with nothing.

    What it holds is known to be of the declared kinds. A text or list that is missing is empty, a
    number that may be missing None, one that may not is nan, and a count 0.
    """
    return known(document, Analysis)


def known(document: Any, structure: type[One]) -> One:
    """The same of any structure, such as a finding of a study."""
    found = _made(document, structure)
    assert isinstance(found, structure)
    return found


def read_losses(document: Any) -> Losses | None:
    """The loss account of a result; None where it has none, or one of another release."""
    found = _part(document, "losses", Losses)
    assert found is None or isinstance(found, Losses)
    return found


def _part(document: Any, name: str, kind: Any) -> Any:
    """A part of a result; None where it is missing or not as declared."""
    part = document.get(name) if isinstance(document, dict) else None
    return None if part is None or any(problems(part, kind)) else _made(part, kind)


def read_as(document: Any, structure: type[One]) -> One:
    """A document that is declared as this structure.

    Raises:
        NotAsDeclaredError: something is missing, not declared or of another kind.
    """
    if (problem := next(problems(document, structure), None)) is not None:
        raise NotAsDeclaredError(problem)
    return known(document, structure)


def _made(value: Any, kind: Any) -> Any:
    """A value of a document as its kind; it is known to be as declared."""
    return None if value is None else _maker_of(kind)(value)


@cache
def _maker_of(kind: Any) -> Callable[[Any], Any]:
    """What makes it of a value that is there, made once: declarations take long to look up."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        kinds = get_args(kind)
        meant = [one for one in kinds if one is not NoneType]
        if len(meant) == 1:
            return _maker_of(meant[0])
        return lambda value: _maker_of(chosen(value, kinds))(value)
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return _maker_of_object(kind)
    if origin is tuple:
        return _maker_of_items(get_args(kind))
    if origin is dict:
        inner = get_args(kind)[1]
        return lambda value: {key: _made(item, inner) for key, item in value.items()}
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    return kind if is_enum else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _maker_of_object(kind: type) -> Callable[[Any], Any]:
    rows: list[tuple[str, str, Callable[[Any], Any]]] = []

    def make(value: Any) -> Any:
        if not rows:  # a structure may have parts of its own kind
            rows[:] = [(name, key, _maker_of(one)) for name, key, one in _declared(kind)]
        held = {
            name: None if (part := value[key]) is None else maker(part)
            for name, key, maker in rows
            if key in value
        }
        return kind(**(held if len(held) == len(rows) else _absent(kind, held.keys()) | held))

    return make


def _maker_of_items(items: tuple[Any, ...]) -> Callable[[Any], Any]:
    if items in PLAIN:
        return tuple
    if items[-1] is Ellipsis:
        each = items[0]
        return lambda value: tuple([_made(item, each) for item in value])
    return lambda value: tuple(_made(item, one) for item, one in zip(value, items, strict=True))


@cache
def _declared(structure: type) -> tuple[tuple[str, str, Any], ...]:
    """Name, key and kind of each field of a structure."""
    kinds = kinds_of(structure)
    keys = [(one.name, key_of(one.name)) for one in fields(structure)]
    return tuple((name, key, kinds[key]) for name, key in keys)


def _absent(structure: type, held: Collection[str]) -> dict[str, Any]:
    """What stands for the fields that a document does not hold."""
    kinds = kinds_of(structure)
    missing = (one for one in fields(structure) if one.name not in held and one.default is MISSING)
    return {one.name: _nothing(kinds[key_of(one.name)]) for one in missing}


def _nothing(kind: Any) -> Any:
    """What stands for a part of this kind that a document does not hold."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return None if NoneType in inner else _nothing(inner[0])
    if kind is Metric:
        return Metric(None, "", NO_REASON)
    if is_dataclass(kind):
        assert isinstance(kind, type)
        return kind(**_absent(kind, ()))
    if origin is tuple:
        return () if inner[-1] is Ellipsis else tuple(_nothing(one) for one in inner)
    if origin is Literal:
        return inner[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    return nan if kind is float else None if kind in {NoneType, Any} else (origin or kind)()
