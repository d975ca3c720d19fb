"""The Chrome trace format as viewers understand it, as a JSON schema.

After "Trace Event Format" (Google, public document) and what ui.perfetto.dev imports.
"""

from typing import Any

_BASE = {
    "pid": {"type": "integer"},
    "tid": {"type": "integer", "minimum": 0},
    "ts": {"type": "number"},
    "name": {"type": "string"},
    "cat": {"type": "string", "minLength": 1},
}
_NAMED = ["ph", "pid", "tid", "ts", "name", "cat"]


def _event(phase: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "properties": {**_BASE, "ph": {"const": phase}, "args": {"type": "object"}, **properties},
        "required": required,
        "additionalProperties": False,
    }


_NUMBERS = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}}
_METADATA = {
    "process_name": {"name": {"type": "string"}},
    "thread_name": {"name": {"type": "string"}},
    "process_labels": {"labels": {"type": "string"}},
    "process_sort_index": {"sort_index": {"type": "integer"}},
    "thread_sort_index": {"sort_index": {"type": "integer"}},
}
_ID = {"type": "integer", "minimum": 0}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["schemaVersion", "baseTimeNanoseconds", "traceEvents"],
    "properties": {
        "schemaVersion": {"const": 1},
        "baseTimeNanoseconds": {"type": "integer", "minimum": 0},
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "distributedInfo": {
            "type": "object",
            "required": ["world_size", "pg_config"],
            "properties": {
                "rank": {"type": "integer", "minimum": 0},
                "world_size": {"type": "integer", "minimum": 1},
                "pg_config": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["pg_name", "ranks"],
                        "properties": {
                            "pg_name": {"type": "string"},
                            "ranks": {"type": "array", "items": {"type": "integer"}},
                        },
                    },
                },
            },
        },
        "traceEvents": {
            "type": "array",
            "items": {
                "type": "object",
                "oneOf": [
                    _event("X", [*_NAMED, "dur"], dur={"type": "number", "minimum": 0}),
                    _event("i", [*_NAMED, "s"], s={"enum": ["t", "p", "g"]}),
                    _event("C", [*_NAMED, "args"], args=_NUMBERS),
                    _event("s", [*_NAMED, "id"], id=_ID),
                    _event("f", [*_NAMED, "id", "bp"], id=_ID, bp={"const": "e"}),
                    *(
                        _event(
                            "M",
                            ["ph", "pid", "name", "args"],
                            name={"const": name},
                            args={
                                "type": "object",
                                "properties": keys,
                                "required": list(keys),
                                "additionalProperties": False,
                            },
                        )
                        for name, keys in _METADATA.items()
                    ),
                ],
            },
        },
    },
}
