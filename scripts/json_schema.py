"""The declarations of analysis.json and study.json as JSON Schema, for other people's tools."""

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from perfscope.schema.check import key_of, kinds_of
from scripts.schema_pages import described

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def json_schema(structure: type, title: str) -> Json:
    """The schema of a whole document; structures stand in `$defs` by their names."""
    known: dict[str, Json] = {}
    _refer(structure, known)
    whole = known.pop(structure.__name__)
    return {"$schema": DIALECT, "title": title, **whole, "$defs": known}


def _refer(structure: Any, known: dict[str, Json]) -> Json:
    """A reference to a structure, which is described where it was not yet."""
    name = structure.__name__
    if name not in known:
        known[name] = {}  # it may hold itself
        text, said = described(structure)
        known[name] = {
            "description": text,
            "type": "object",
            "properties": {
                key: _of(kind, known) | ({"description": said[key]} if key in said else {})
                for key, kind in kinds_of(structure).items()
            },
            "required": [
                key_of(field.name) for field in fields(structure) if field.default is MISSING
            ],
        }
    return {"$ref": f"#/$defs/{name}"}


def _of(kind: Any, known: dict[str, Json]) -> Json:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return {"anyOf": [_of(one, known) for one in inner]}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], known)}
    if origin is tuple:
        items = [_of(one, known) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], known)}
    if origin is Literal:
        return {"enum": list(inner)}
    if is_dataclass(kind):
        return _refer(kind, known)
    if kind is Any:
        return {}
    return {"enum": [one.value for one in kind]} if issubclass(kind, Enum) else _simple(kind)


def _simple(kind: type) -> Json:
    return {"type": _PLAIN[kind]}
