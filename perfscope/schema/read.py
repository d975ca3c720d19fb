"""Reads a document, as it comes from JSON, into the structures that it is declared with."""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from perfscope.schema.analysis import Analysis
from perfscope.schema.check import chosen, kinds_of, problems
from perfscope.schema.losses import Losses


class NotAsDeclaredError(ValueError):
    """A document is not what its declaration says: what is wrong with it, and where."""


def read_analysis(document: Any) -> Analysis:
    """The result of a run.

    Raises:
        NotAsDeclaredError: something is missing, not declared or of another kind.
    """
    if (problem := next(problems(document), None)) is not None:
        raise NotAsDeclaredError(problem)
    found = _made(document, Analysis)
    assert isinstance(found, Analysis)
    return found


def read_losses(document: Any) -> Losses | None:
    """The loss account of a result; None where it has none, or one of another release."""
    part = document.get("losses") if isinstance(document, dict) else None
    if part is None or any(problems(part, Losses)):
        return None
    found = _made(part, Losses)
    assert isinstance(found, Losses)
    return found


def _made(value: Any, kind: Any) -> Any:
    """A value of a document as its kind; it is known to be as declared."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        kind = chosen(value, get_args(kind))
        return _made(value, kind)
    if kind is NoneType or value is None:
        return None
    if is_dataclass(kind):
        assert isinstance(kind, type)
        kinds = kinds_of(kind)
        return kind(**{name: _made(item, kinds[name]) for name, item in value.items()})
    if origin is tuple:
        items = get_args(kind)
        each = items[:1] * len(value) if items[-1] is Ellipsis else items
        return tuple(_made(item, one) for item, one in zip(value, each, strict=True))
    if origin is dict:
        return {key: _made(item, get_args(kind)[1]) for key, item in value.items()}
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
