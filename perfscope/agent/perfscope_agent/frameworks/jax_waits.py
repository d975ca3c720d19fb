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
    from typing import Any, Callable, Optional, Tuple

    from ..kinds import AnyFunction, ModuleType

    Told = Tuple[
        Callable[[Any], Optional["Race"]],
        Callable[[recorder.Recorder], int],
        Callable[[recorder.Recorder, Any, int, int], None],
    ]

_WHAT = "what JAX computes"
_READ = "_value"  # what conversions, comparisons, printing and NumPy take the values from
_MOST_OUTPUTS = 8
_SHORTEST_NAP_S, _LONGEST_NAP_S = 0.0002, 0.05
_NAP = 64  # part of the time that has been waited, by which a wait may so be longer

_waiting: list[bool] = []  # a wait that is part of another one is none of its own


def install(module: ModuleType, told: Told) -> None:
    """Tells of each wait, by three functions.

    The first is given what is waited for, and returns what may come before that, or None; the
    second is called when that came before, and returns when it did. The last gets the array that
    was read, None for all, and when the wait was.
    """

    def blocking(original: AnyFunction) -> AnyFunction:
        def block_until_ready(*args: Any, **kwargs: Any) -> Any:
            return _timed(original, args, kwargs, None, told)

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
        setattr(arrays, _READ, property(_reading(read.fget, told), doc=read.__doc__))


def _reading(original: AnyFunction, told: Told) -> AnyFunction:
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
    told: Told,
) -> Any:
    rec = recorder.current
    is_seen = rec is not None and not _waiting and not wrap.Depth.value
    if rec is None or not is_seen or _thread.get_ident() != recorder.main_thread:
        return original(*args, **kwargs)
    start_ns = rec.now()
    _waiting.append(True)
    try:
        before_ns = _comes_before(rec, args, told)
        result = original(*args, **kwargs)
    finally:
        del _waiting[:]
    if rec is recorder.current:
        wrap.guarded(_WHAT, told[-1], rec, read, before_ns or start_ns, rec.now())
    return result


def _comes_before(rec: recorder.Recorder, awaited: Any, told: Told) -> int:
    """When that was there which comes before what is waited for, after having slept; else 0.

    The program sleeps here: what the handler of a signal raises meanwhile is the program's.
    """
    begins, won, _ = told
    race = wrap.guarded(_WHAT, begins, awaited)
    nap_s = race and wrap.guarded(_WHAT, race.nap_s)
    while nap_s:
        time.sleep(nap_s)
        nap_s = wrap.guarded(_WHAT, race.nap_s)
    return (race and race.is_won and wrap.guarded(_WHAT, won, rec)) or 0


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


class Race:
    """Between work that the program does not wait for and what it waits for: what is there first.

    It is over as soon as one of them is, as far as the first outputs of each tell: nobody waits
    for longer than the program does. The work has won where it was not there to begin with.
    """

    def __init__(self, work: Outputs, awaited: Any) -> None:
        self.is_won = False
        self._work, self._awaited = work, Outputs()
        self._awaited.become(awaited)
        self._begin_s = time.monotonic()

    def nap_s(self) -> float:
        """How long to sleep before this is asked again, 0.0 once it is over."""
        is_running = self._work.are_running()
        if not is_running or not self._awaited.are_running():
            self.is_won = self.is_won and not is_running
            return 0.0
        self.is_won = True
        part_s = (time.monotonic() - self._begin_s) / _NAP
        return min(max(part_s, _SHORTEST_NAP_S), _LONGEST_NAP_S)


def _is_ready(array: Any) -> bool | None:
    """Whether an array is there; None where nothing tells that."""
    is_there: bool | None = wrap.asked(None, _ask, array)
    return is_there


def _ask(array: Any) -> Any:
    asked = getattr(array, "is_ready", None)  # perhaps of a class of the program's own
    return None if asked is None else asked()


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
