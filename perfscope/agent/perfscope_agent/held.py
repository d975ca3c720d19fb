"""Objects that hold arrays: a digest of all that they hold, where that is known.

A sparse matrix is three arrays and some numbers in an object of Python. What libraries of C keep
inside their own objects nobody sees, as the state of a random generator: those have no digest.
"""

from __future__ import annotations

import operator

from . import operand_arrays, own_threads
from .kinds import Any
from .operand_arrays import Array, getters, tensor_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterator, List, Optional, Tuple

    _Told = Optional[List[Any]]
    _Readers = Tuple[Callable[..., Any], ...]
    _Seen = Tuple[Array, int]

_FORM = "shape", "strides"
_DATA_OFFSET = 16
"""Where an array of NumPy keeps the address of its values: the first field of its own."""

OBJECT = "object"
"""The kind of what is no array itself."""

_NAMED = (type(lambda: None), type(len), type)
_CODE = (*_NAMED, type(own_threads))
"""What is no data: it is the same where it is the same object."""

_NUMBERS: tuple[tuple[type, _Readers], ...] = (
    # alone the hash of a number is that of another one as well, as -1 and -2
    (int, (hash, int.bit_length)),
    (float, (float.hex,)),
    (complex, (complex.__repr__,)),
    (range, (range.__repr__,)),
)
_LONGEST = 256
"""Characters of a text that are looked at; of a longer one it is not known what it says."""

_TEXTS = (str, bytes)
_HASHED: tuple[tuple[type, _Readers], ...] = (
    *_NUMBERS,
    (bool, (bool.__repr__,)),
    *[(kind, (hash, len, operator.itemgetter(slice(_LONGEST)))) for kind in _TEXTS],
)
_STRUCTURE = (list, tuple, dict)
_MOST_ARRAYS = 8
_SIZE_BITS = 31
_NEAR = 4  # times a size, at most, that an array may be brought to
_BARE = object.__basicsize__
_POINTER = 8
_name_of = type.__dict__["__name__"].__get__
_size_of, _dict_at, _weak_at = [
    type.__dict__[name].__get__ for name in ("__basicsize__", "__dictoffset__", "__weakrefoffset__")
]


def kinds() -> list[tuple[Any, ...]]:
    """Types whose objects are not looked into, with what tells those with values of one apart.

    What holds more than that, as a set, has no digest.
    """
    deque = own_threads.contents("_collections").get("deque")
    closed = (set, frozenset, bytearray, *([] if deque is None else [deque]))
    code = [(kind, (_qualified_name(kind),), True) for kind in _NAMED]
    plain = [(kind, (), True) for kind in (type(own_threads), *closed)]
    return [*_HASHED, (type(None), ()), *code, *plain]


def kinds_of_arrays(
    has_numpy: bool, has_torch: bool
) -> tuple[tuple[tuple[Any, ...], ...], dict[type, Any]]:
    """Types with what tells of their objects, and of each kind of array what makes one of that."""
    found, made = kinds(), {}
    if has_numpy:
        numpy = own_threads.contents("numpy")
        array, dtype = numpy["ndarray"], numpy["dtype"]
        made[array] = operand_arrays.of_numpy
        if operand_arrays.widens(numpy.get("__version__")) and numpy.get("float64"):
            made[numpy["float64"]] = operand_arrays.of_number
            found.insert(0, (numpy["float64"], (float.hex,)))
        (kind_of,) = getters(array, ("dtype",), ())
        readers = (
            (kind_of, *getters(dtype, ("str",), ())),
            *getters(array, _FORM, ()),
        )
        found.insert(0, (array, (*readers, _DATA_OFFSET)))
    if has_torch:
        form = "dtype", "device", "layout", "requires_grad", "shape"
        of_torch, of_parameter = operand_arrays.of_torch, operand_arrays.of_parameter
        tensors = (
            ("torch", "Tensor", of_torch),
            ("torch.nn.parameter", "Parameter", of_parameter),
        )
        for module, name, make in tensors:
            kind = own_threads.contents(module)[name]
            readers = getters(kind, form, ("stride",)) + tensor_place(kind)
            made[kind] = make
            found.insert(0, (kind, readers))
    return tuple(found), made


def seen(
    held: list[Any], make: Callable[[type, list[Any]], Array | None], digest: Any
) -> _Seen | None:
    """What an object holds, as one array of all its values, and a digest of that.

    The `value` of that array is a digest that other processes have as well. None where it holds no
    array, or something that is not known.
    """
    values, arrays, parts, everywhere = 0, 0, held[:1], held[:1]
    for identity, kind, told in held[1:]:
        array = make(kind, told) if told else None
        if array is not None:
            arrays += 1
            values += array.elements
            parts.append(digest(array) if arrays <= _MOST_ARRAYS else 0)
            everywhere.append(parts[-1])
        elif told is None and (_is_one_of(kind, _STRUCTURE) or _keeps_all(kind)):
            parts.append(id(kind))
            everywhere.append(_name_of(kind))
        else:
            parts.append(_constant(kind, identity, told))
            everywhere.append(_everywhere(kind, told))
        if not parts[-1]:
            return None
    if not arrays:
        return None
    whole = Array(OBJECT, "values", "native", 0, (values,)).laid_out(1, None)
    whole.value = operand_arrays.of_parts(tuple(everywhere))
    whole.is_common = 0 not in everywhere
    return whole, hash(tuple(parts)) or 1


def constant_at(path: tuple[object, ...], answer: Any) -> int:
    """A number that tells a value apart that does not change, or is no data; 0: not to be known."""
    if not answer:
        is_builtin = type(path[0]) is str and path[0] in own_threads.contents("builtins")
        return 1 if is_builtin else 0
    _, identity, kind, told = answer[:4]
    return 0 if kind is None else _constant(kind, identity, told)


def everywhere(path: tuple[object, ...], answer: Any) -> object:
    """What a value that is no array is in all processes, as a text; 0: not to be known."""
    if not answer:
        return int(constant_at(path, answer) != 0)
    _, _, kind, told = answer[:4]
    return 0 if kind is None else _everywhere(kind, told)


def _everywhere(kind: type, told: _Told) -> object:
    if told and _is_one_of(kind, _TEXTS):
        return repr(told[2]) if told[1] <= _LONGEST else 0
    if told and any(kind is one for one, _ in _HASHED):
        return repr(told)
    if any(_is_one_of(base, _NAMED) for base in type.mro(kind)):
        return repr(told) if told else 0
    return 1 if kind is type(None) or kind is type(own_threads) else 0


def integer(answer: Any) -> int:
    """An integer that may be a size, which is its own hash; 0 of anything else."""
    if not answer or answer[2] is not int or not answer[3]:
        return 0
    return answer[3][0] if answer[3][0] > 1 and answer[3][1] <= _SIZE_BITS else 0


def note_lengths(known: dict[str, int], integers: dict[str, int], arrays: list[Array]) -> None:
    """Takes note of integers that are near a size of an array, which may be brought to that.

    One that changes is 0 from then on.
    """
    sizes = [size for array in arrays for size in array.shape]
    for name, value in integers.items():
        if value and [size for size in sizes if size <= _NEAR * value and value <= _NEAR * size]:
            known[name] = value if known.get(name, value) == value else 0


def _constant(kind: type, identity: int, told: _Told) -> int:
    if told and any(kind is one for one, _ in _HASHED):
        return hash((id(kind), *told)) or 1
    # of types that are made from these as well: a class whose metaclass is the program's
    is_code = any(_is_one_of(base, _CODE) for base in type.mro(kind))
    return identity if is_code or kind is type(None) else 0


def _is_one_of(kind: type, kinds: tuple[type, ...]) -> bool:
    """Whether a type is one of some; `in` would ask the program's metaclass whether it is equal."""
    return any(kind is one for one in kinds)


def _qualified_name(kind: type) -> Any:
    """What tells the name of a function or class; that of a class is not the one it is told of."""
    return kind.__dict__["__qualname__"].__get__


def _keeps_all(kind: type) -> bool:
    """Whether objects of a type keep all they have in a dictionary: nothing of C's own."""
    pointers = sum([at(kind) > 0 for at in (_dict_at, _weak_at)])
    return bool(_size_of(kind) - _POINTER * pointers == _BARE)


def flat(answers: list[Any]) -> Iterator[Any]:
    """The answers that hold something, and after each what a list of it holds."""
    for answer in answers:
        if answer:
            yield answer
            if answer[2] is list or answer[2] is tuple:  # `in` would ask a metaclass
                yield from flat(answer[3])
