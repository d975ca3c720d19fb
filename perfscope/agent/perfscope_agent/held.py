"""Objects that hold arrays: a digest of all that they hold, where that is known.

A sparse matrix is three arrays and some numbers in an object of Python. What libraries of C keep
inside their own objects nobody sees, as the state of a random generator: those have no digest.
"""

from __future__ import annotations

from . import own_threads
from .kinds import Any
from .operand_arrays import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Tuple

    _Held = List[Optional[Tuple[type, int, Optional[List[Any]]]]]
    _Seen = Tuple[Array, int]

OBJECT = "object"
"""The kind of what is no array itself."""

code_types = (type(lambda: None), type(len), type(own_threads), type)
"""What is no data: it is the same where it is the same object."""

hashed = (int, float, bool, complex, str, bytes, range)

_STRUCTURE = (list, tuple, dict)
_MOST_ARRAYS = 8
_BARE = object.__basicsize__
_POINTER = 8
_size_of, _dict_at, _weak_at = [
    type.__dict__[name].__get__ for name in ("__basicsize__", "__dictoffset__", "__weakrefoffset__")
]


def kinds() -> list[tuple[Any, ...]]:
    """Types whose objects are not looked into: what they hold may be too much to be listed."""
    deque = own_threads.contents("_collections").get("deque")
    return [(kind, (), True) for kind in (set, frozenset, bytearray, deque) if kind is not None]


def seen(
    held: _Held, kind: type, make: Callable[[type, list[Any]], Array | None], digest: Any
) -> _Seen | None:
    """What an object of some kind holds, as one array of all its values, and a digest of that.

    None where it holds no array, or something that is not known.
    """
    if not held or held[-1] is None or not _keeps_all(kind):
        return None
    values, arrays = 0, 0
    parts: list[int] = []
    for one in held:
        if one is None:
            return None
        inner, identity, told = one
        array = make(inner, told) if told else None
        arrays += array is not None
        if array is not None and arrays <= _MOST_ARRAYS:
            values += array.elements
            parts.append(digest(array))
        elif told is None and (_is_one_of(inner, _STRUCTURE) or _keeps_all(inner)):
            parts.append(id(inner))
        else:
            parts.append(_constant(inner, identity, told))
        if not parts[-1]:
            return None
    if not arrays:
        return None
    whole = Array(OBJECT, "values", "native", 0, (values,)).laid_out(1, None)
    return whole, hash(tuple(parts)) or 1


def constant_at(path: tuple[object, ...], answer: Any) -> int:
    """A number that tells a value apart that does not change, or is no data; 0: not to be known."""
    if not answer:
        is_builtin = type(path[0]) is str and path[0] in own_threads.contents("builtins")
        return 1 if is_builtin else 0
    _, identity, kind, told = answer[:4]
    return _constant(kind, identity, told)


def _constant(kind: type, identity: int, told: Any) -> int:
    if _is_one_of(kind, hashed):
        return hash((id(kind), told[0])) or 1
    return identity if _is_one_of(kind, code_types) or kind is type(None) else 0


def _is_one_of(kind: type, kinds: tuple[type, ...]) -> bool:
    """Whether a type is one of some; `in` would ask the program's metaclass whether it is equal."""
    return any(kind is one for one in kinds)


def _keeps_all(kind: type) -> bool:
    """Whether objects of a type keep all they have in a dictionary: nothing of C's own."""
    pointers = sum([at(kind) > 0 for at in (_dict_at, _weak_at)])
    return bool(_size_of(kind) - _POINTER * pointers == _BARE)
