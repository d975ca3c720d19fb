"""Where a program waits for what JAX computes: calls return before their work is done.

It waits where it asks for that, and where it reads the values of an array.
"""

from __future__ import annotations

import _thread
import sys
from itertools import islice

from .. import recorder
from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..kinds import AnyFunction, ModuleType

    Waited = Callable[[recorder.Recorder, Any, int, int], None]

_READ = "_value"  # what conversions, comparisons, printing and NumPy take the values from
_MOST_OUTPUTS = 8

_waiting: list[bool] = []  # a wait that is part of another one is none of its own


def install(module: ModuleType, waited: Waited) -> None:
    """Calls `waited` with the array that was read, None for all, and when the wait was."""

    def blocking(original: AnyFunction) -> AnyFunction:
        def block_until_ready(*args: Any, **kwargs: Any) -> Any:
            return _timed(original, args, kwargs, None, waited)

        return block_until_ready

    wrap.replace(module, "block_until_ready", blocking)
    arrays: Any = getattr(sys.modules.get("jax._src.array"), "ArrayImpl", None)
    if arrays is None:
        return
    method = getattr(arrays, "block_until_ready", None)
    if method is not None:  # its names are no texts, which `functools` asks for
        arrays.block_until_ready = blocking(method)
        arrays.block_until_ready.__doc__ = getattr(method, "__doc__", None)
    read = getattr(arrays, _READ, None)
    if isinstance(read, property) and read.fget is not None:
        setattr(arrays, _READ, property(_reading(read.fget, waited), doc=read.__doc__))


def _reading(original: AnyFunction, waited: Waited) -> AnyFunction:
    def value(self: Any) -> Any:
        if getattr(self, "_npy_value", None) is not None:  # it was read before
            return original(self)
        return _timed(original, (self,), {}, self, waited)

    return value


def _timed(
    original: AnyFunction,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    read: Any,
    waited: Waited,
) -> Any:
    rec = recorder.current
    is_seen = rec is not None and not _waiting and not wrap.Depth.value
    if rec is None or not is_seen or _thread.get_ident() != recorder.main_thread:
        return original(*args, **kwargs)
    start_ns = rec.now()
    _waiting.append(True)
    try:
        result = original(*args, **kwargs)
    finally:
        del _waiting[:]
    if rec is recorder.current:
        waited(rec, read, start_ns, rec.now())
    return result


class Outputs:
    """The arrays that a call returned at the top of its result, without holding them."""

    def __init__(self) -> None:
        self._references: list[Any] = []

    def become(self, result: Any) -> None:
        """A call returned something."""
        found = [one for value in _inside(result) for one in _inside(value, (dict,))]
        self._references = [one for value in found[:_MOST_OUTPUTS] for one in weak(value)]

    def have(self, array: Any) -> bool:
        """Whether it is one of them."""
        return any(one() is array for one in self._references)


def _inside(value: Any, kinds: tuple[Any, ...] = (dict, tuple, list)) -> list[Any]:
    """The first values in a container, else the value; no code of a class of the program runs."""
    for kind in kinds:
        if issubclass(type(value), kind):
            values = kind.values(value) if kind is dict else kind.__iter__(value)
            return list(islice(values, _MOST_OUTPUTS))
    return [value]


def weak(value: Any) -> list[Any]:
    """A reference that does not keep it; none of what cannot have one, as a number."""
    import weakref

    try:
        return [weakref.ref(value)]
    except TypeError:
        return []
