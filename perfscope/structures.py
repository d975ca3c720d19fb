"""Dataclasses that are compiled at first use, so that a declaration costs only 0.01 ms.

The standard library's `dataclass` writes and compiles six functions for each class, in 0.6 ms, as
soon as the class is declared; a command loads some 400 of them. Here `__init__` is written with the
first instance; comparing, hashing and showing need no code of their own, and what forbids changes
is one function for all. `dataclasses.fields`, `replace` and `asdict` find what they look for: the
standard library itself collects the fields, when somebody asks for them.
"""

import dataclasses
import reprlib
from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_FIELDS = "__dataclass_fields__"
_COMPLETING = RLock()
_NOT_GIVEN = object()


class _NotCollected:
    """Stands for the fields of a class until somebody asks for them."""

    __slots__ = ("made", "owner")

    def __init__(self, owner: type, made: Callable[[type], object]) -> None:
        self.owner = owner
        self.made = made

    def __get__(self, _: object, __: type) -> Any:
        with _COMPLETING:
            if vars(self.owner)[_FIELDS] is self:
                self.made(self.owner)
        return vars(self.owner)[_FIELDS]


def _declared(declared: type, *, frozen: bool = False, kw_only: bool = False) -> type:
    """The class with all that a dataclass has, still without code of its own."""
    own = vars(declared)
    methods: dict[str, Any] = {"__init__": _first(declared), "__eq__": _equal, "__repr__": _shown}
    if frozen:
        methods |= {"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}
    else:
        methods["__hash__"] = None
    for name, method in methods.items():
        if own.get(name) is None:
            setattr(declared, name, method)
    collect = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)
    setattr(declared, _FIELDS, _NotCollected(declared, collect))
    return declared


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(declared: type | None = None, /, **options: bool) -> Any:
        """A class whose annotations are its fields: see `dataclasses.dataclass`.

        Options are `frozen` and `kw_only`, as the standard library has them.
        """
        return partial(_declared, **options) if declared is None else _declared(declared, **options)


def _first(declared: type) -> Callable[..., None]:
    """What the first instance of a class is made with: it writes `__init__` before it calls it."""

    def first(self: object, /, *given: Any, **named: Any) -> None:
        with _COMPLETING:
            if vars(declared)["__init__"] is first:
                declared.__init__ = _written(declared)  # type: ignore[misc]
        vars(declared)["__init__"](self, *given, **named)

    return first


def _written(declared: type) -> Callable[..., None]:
    """`__init__` of a class: each field stored where attributes are, then `__post_init__`."""
    known: dict[str, Any] = {"_not_given": _NOT_GIVEN}
    order: list[str] = []
    lines = ["    _values = _self.__dict__"]
    for field in sorted(dataclasses.fields(declared), key=lambda field: bool(field.kw_only)):
        name = field.name
        if field.kw_only and "*" not in order:
            order.append("*")
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            order.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_made_{name}"] = field.default_factory
            order.append(f"{name}=_not_given")
            lines.append(f"    if {name} is _not_given: {name} = _made_{name}()")
        else:
            order.append(name)
        lines.append(f"    _values[{name!r}] = {name}")
    if hasattr(declared, "__post_init__"):
        lines.append("    _self.__post_init__()")
    head = f"def __init__({', '.join(['_self', *order])}):"
    exec("\n".join([head, *lines]), known)  # noqa: S102 - of fields in perfscope's own source
    written: Callable[..., None] = known["__init__"]
    written.__qualname__ = f"{declared.__qualname__}.__init__"
    return written


@cache
def _compared(declared: type) -> Callable[[object], Any]:
    """What finds the values by which instances of a class are equal, or not."""
    names = [field.name for field in dataclasses.fields(declared) if field.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: [getattr(instance, name) for name in names]


def _equal(self: object, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    values = _compared(type(self))  # type: ignore[arg-type]
    return values(self) == values(other)


def _hash(self: object) -> int:
    return hash((*_compared(type(self))(self),))  # type: ignore[arg-type]


@reprlib.recursive_repr()
def _shown(self: object) -> str:
    shown = (field for field in dataclasses.fields(self) if field.repr)  # type: ignore[arg-type]
    values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in shown)
    return f"{self.__class__.__qualname__}({values})"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"{self.__class__.__qualname__}.{name} does not change")
