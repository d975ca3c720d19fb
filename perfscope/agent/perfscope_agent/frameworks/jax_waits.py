"""Where a program waits for what JAX computes: calls return before their work is done.

It waits where it asks for that, and where it reads the values of an array. JAX tells of an array
whether it is there, and not since when.
"""

from __future__ import annotations

import _thread
import sys
import time
from itertools import islice

from .. import recorder
from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..kinds import AnyFunction, ModuleType

    Begins = Callable[[recorder.Recorder, Any], int]
    Waited = Callable[[recorder.Recorder, Any, int, int], None]

_READ = "_value"  # what conversions, comparisons, printing and NumPy take the values from
_MOST_OUTPUTS = 8
_SHORTEST_NAP_S, _LONGEST_NAP_S = 0.0002, 0.05
_NAP = 64  # part of the time that has been waited, by which a wait may so be longer

_waiting: list[bool] = []  # a wait that is part of another one is none of its own


def install(module: ModuleType, begins: Begins, waited: Waited) -> None:
    """Calls `waited` with the array that was read, None for all, and when the wait was.

    Before it calls `begins` with what is waited for, which tells when it began in truth, or 0.
    """

    def blocking(original: AnyFunction) -> AnyFunction:
        def block_until_ready(*args: Any, **kwargs: Any) -> Any:
            return _timed(original, args, kwargs, None, (begins, waited))

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
        setattr(arrays, _READ, property(_reading(read.fget, (begins, waited)), doc=read.__doc__))


def _reading(original: AnyFunction, told: tuple[Begins, Waited]) -> AnyFunction:
    def value(self: Any) -> Any:
        if getattr(self, "_npy_value", None) is not None:  # it was read before
            return original(self)
        return _timed(original, (self,), {}, self, told)

    return value


def _timed(
    original: AnyFunction,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    read: Any,
    told: tuple[Begins, Waited],
) -> Any:
    rec = recorder.current
    is_seen = rec is not None and not _waiting and not wrap.Depth.value
    if rec is None or not is_seen or _thread.get_ident() != recorder.main_thread:
        return original(*args, **kwargs)
    start_ns = rec.now()
    begins, waited = told
    _waiting.append(True)
    try:
        before_ns = wrap.guarded("what JAX computes", begins, rec, args)
        result = original(*args, **kwargs)
    finally:
        del _waiting[:]
    if rec is recorder.current:
        waited(rec, read, before_ns or start_ns, rec.now())
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

    def are_running(self) -> bool:
        """Whether one of them is known not to be there yet."""
        return any(_is_ready(one()) is False for one in self._references)

    def come_before(self, others: Any) -> bool:
        """Whether they come before others do, after having waited for that, of which naps are part.

        False where they are there already. Nobody waits here for longer than the others take, as
        far as the first of these tell.
        """
        awaited = Outputs()
        awaited.become(others)
        begin_s, is_late = time.monotonic(), False
        while self.are_running():
            if not awaited.are_running():
                return False
            is_late = True
            part_s = (time.monotonic() - begin_s) / _NAP
            time.sleep(min(max(part_s, _SHORTEST_NAP_S), _LONGEST_NAP_S))
        return is_late


def _is_ready(array: Any) -> bool | None:
    """Whether an array is there; None where nothing tells that."""
    asked = getattr(array, "is_ready", None)
    return None if asked is None else wrap.asked(None, asked)


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
