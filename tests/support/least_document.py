"""The least that a document may hold: what may be missing is, and there is one of nothing."""

from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from perfscope.schema.check import kinds_of
from perfscope.schema.common import Metric

PLAIN: dict[Any, Any] = {str: "", int: 0, float: 0.0, bool: False, Any: None, NoneType: None}


def least(kind: Any, reason: str) -> Any:
    """A document of a declaration, as read from JSON.

    Args:
        kind: the declaration.
        reason: why there is no figure.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if kind is Metric:
        return {"value": None, "unit": "ratio", "reason": reason}
    if isinstance(kind, type) and is_dataclass(kind):
        kinds = kinds_of(kind)
        parts = {key: least(one, reason) for key, one in kinds.items()}
        return parts | ({"reason": reason} if kinds.get("reason") is str else {})
    if origin in {Union, UnionType}:
        return None if NoneType in inner else least(inner[-1], reason)
    if origin is tuple:
        return [] if inner[-1] is Ellipsis else [least(one, reason) for one in inner]
    if origin is dict:
        return {}
    if origin is Literal:
        return inner[0]
    assert issubclass(kind, Enum)
    return next(iter(kind)).value
