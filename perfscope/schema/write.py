"""Writes the structures of the documents as JSON: what `read` reads."""

import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any

from perfscope.output import json_text
from perfscope.schema.check import key_of

Json = dict[str, Any]


def as_json(document: Any) -> Json:
    """The object of JSON that a structure is written as."""
    cleaned = plain(document)
    assert isinstance(cleaned, dict)
    return cleaned


def plain(value: Any) -> Any:
    """The value as JSON knows it: numpy numbers as Python's, what is not finite as null.

    Of structures, a field that is as its declaration has it when absent is left out.
    """
    kind: Any = type(value)
    if kind in _AS_THEY_ARE or (kind is str and value.isascii()):
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if declared := _declared(kind):
        found = ((key, getattr(value, name), absent) for name, key, absent in declared)
        return {key: plain(item) for key, item, absent in found if item is not absent}
    if isinstance(value, dict):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        kinds = {*map(type, value)}
        if kinds <= _NUMBERS and (float not in kinds or math.isfinite(sum(value))):
            return list(value)
        return [plain(item) for item in value]
    return _plain_one(value)


_AS_THEY_ARE = frozenset({int, bool, NoneType})
_NUMBERS = frozenset({int, float})
_HOLDERS = frozenset({dict, list})


@cache
def _declared(kind: type) -> tuple[tuple[str, str, Any], ...]:
    """The fields of a structure: name, key, and what it is when absent; nothing of other kinds."""
    if not is_dataclass(kind):
        return ()
    return tuple((one.name, key_of(one.name), one.default) for one in fields(kind))


def _plain_one(value: Any) -> Any:
    """A value that holds no others, or an array of numbers."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "tolist"):  # of numpy, a number or an array of them
        return plain(value.tolist())
    if isinstance(value, float):
        return plain(float(value))
    if isinstance(value, str):
        # text of the traced program may hold what UTF-8 cannot
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def document_text(document: Json) -> str:
    """The document as JSON text; NaN and infinities never appear, nor what cannot be seen."""
    return json_text("".join(_written(document, 0))) + "\n"


def _written(value: Any, depth: int) -> Iterator[str]:
    """What `json.dumps` writes with an indent of 1, which writes each number by itself.

    What holds no lists and objects, most of a document, is written by the compiled encoder.
    """
    brackets = "{}" if isinstance(value, dict) else "[]"
    items = value.values() if isinstance(value, dict) else value
    line = "\n" + " " * (depth + 1)
    if type(value) not in _HOLDERS or not value:
        yield _encoder("").encode(value)
    elif _HOLDERS.isdisjoint(map(type, items)):
        inner = _encoder(line).encode(value)[1:-1]
        yield f"{brackets[0]}{line}{inner}{line[:-1]}{brackets[1]}"
    else:
        keys = [_encoder("").encode(key) + ": " for key in value] if brackets == "{}" else None
        before = brackets[0] + line
        for place, item in enumerate(items):
            yield before + (keys[place] if keys else "")
            yield from _written(item, depth + 1)
            before = "," + line
        yield line[:-1] + brackets[1]


@cache
def _encoder(line: str) -> json.JSONEncoder:
    """Writes what stands between two items of a list or an object as the begin of a new line."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=("," + line, ": "))
