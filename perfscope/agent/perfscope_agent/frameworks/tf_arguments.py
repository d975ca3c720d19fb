"""Which argument of a tf.function had TensorFlow trace it again, and what of it changed."""

from __future__ import annotations

from ..kinds import Any, Iterator

_MOST_TRACES = 200
_MOST_PARTS = 64
VALUE, SHAPE, TYPE, OBJECT = "value", "shape", "type", "object"


def changing(function: Any) -> dict[str, Any]:
    """The argument that was another one in most of its traces; empty where none was.

    No value of the program is kept: only how often there was another one.
    """
    seen: dict[tuple[str, str], set[Any]] = {}
    for trace in function._list_all_concrete_functions()[:_MOST_TRACES]:
        for name, parameter in trace.function_type.parameters.items():
            parts: dict[str, list[Any]] = {}
            for what, value in _parts(parameter.type_constraint):
                parts.setdefault(what, []).append(value)
            for what, values in parts.items():
                seen.setdefault((str(name), what), set()).add(tuple(values[:_MOST_PARTS]))
    most = max(seen, key=lambda one: len(seen[one]), default=None)
    if most is None or len(seen[most]) < 2:
        return {}
    return {"argument": most[0], "changes": most[1], "again": len(seen[most]) - 1}


def _parts(constraint: Any) -> Iterator[tuple[str, Any]]:
    """What TensorFlow tells arguments apart by, of all that one holds."""
    shape, inner = getattr(constraint, "shape", None), getattr(constraint, "components", None)
    if shape is not None and hasattr(constraint, "dtype"):
        yield SHAPE, str(shape)
        yield TYPE, str(constraint.dtype)
    elif inner is not None or hasattr(constraint, "mapping"):
        held = constraint.mapping if inner is None else inner
        for one in held.values() if isinstance(held, dict) else held:
            yield from _parts(one)
    else:
        is_value = type(constraint).__name__ == "Literal"
        yield VALUE if is_value else OBJECT, constraint
