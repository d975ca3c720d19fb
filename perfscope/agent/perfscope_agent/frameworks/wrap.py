"""Replaces functions of a framework by ones that also record."""

from __future__ import annotations

import _thread
import functools

from .. import exceptions, notes, recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, ContextManager

    AnyFunction = Callable[..., Any]

_MARK = "_perfscope_wrapper"


def replace(owner: Any, name: str, make: Callable[[AnyFunction], AnyFunction]) -> bool:
    """Replaces `owner.name` by what `make` builds around it; False without such a function."""
    original = getattr(owner, name, None)
    if original is None or getattr(original, _MARK, False):
        return False
    replacement: Any = make(original)
    functools.update_wrapper(replacement, original)
    setattr(replacement, _MARK, True)
    # TensorFlow's AutoGraph would otherwise convert the wrapper's source, and warn about it.
    replacement.autograph_info__ = None
    setattr(owner, name, replacement)
    exceptions.hide_agent_frames()
    return True


def guarded(what: str, action: AnyFunction, *arguments: Any) -> Any:
    """Runs what only the recording needs; a failure is noted and the program goes on, with None.

    Whatever belongs to the program may be of a class of its own, which may raise anything.
    """
    try:
        return action(*arguments)
    except Exception as error:
        notes.failure(what, error)
        return None


def asked(otherwise: Any, action: AnyFunction, *arguments: Any) -> Any:
    """What an action tells that asks something of the program's own; `otherwise` where it raises.

    That may be anything, as the class may be the program's; it is usual there, and not noted.
    """
    try:
        return action(*arguments)
    except Exception as error:
        notes.pass_on(error)
        return otherwise


class _Main:
    __slots__ = ("value",)  # setting it on a class would have Python look its attributes up anew

    def __init__(self) -> None:
        self.value = 0


class _Others(_thread._local):
    value = 0


_main = _Main()
_others = _Others()


class _Depth:
    @property
    def value(self) -> int:
        return _main.value or _others.value


Depth = _Depth()
"""How many recorded framework calls are running: only the outermost of some kinds counts.

What another thread of the program is in hides nothing of what the main thread does.
"""


def begin(rec: recorder.Recorder, kind: int, name: str) -> tuple[Any, int]:
    """Begins a phase around a framework's function, in fewer calls than `Inside`; for `end`."""
    depth: Any = _main if _thread.get_ident() == recorder.main_thread else _others
    token = rec.phase_begin(kind, rec.name(name), recorder.NO_STEP, recorder.NO_EPOCH)
    depth.value += 1  # last: nothing takes it back where a signal ends what stands before it
    return depth, token


def end(rec: recorder.Recorder, begun: tuple[Any, int] | None) -> None:
    """Ends a phase; None where it has not begun."""
    if begun is None:
        return
    begun[0].value -= 1
    # A fork inside the call leaves the child without a recording.
    if recorder.current is rec:
        rec.phase_end(begun[1])


class Inside:
    """A phase around a framework's function."""

    __slots__ = ("_begun", "_kind", "_name", "_rec")

    def __init__(self, rec: recorder.Recorder, kind: int, name: str) -> None:
        self._rec = rec
        self._kind = kind
        self._name = name

    def __enter__(self) -> None:
        self._begun = begin(self._rec, self._kind, self._name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end(self._rec, self._begun)


def phase(
    owner: Any, name: str, kind: int, label: str, before: Callable[[], None] | None = None
) -> bool:
    """Records every call of `owner.name` as a phase; `before` runs first."""
    return surround(owner, name, lambda rec: Inside(rec, kind, label), before)


def surround(
    owner: Any,
    name: str,
    context: Callable[[recorder.Recorder], ContextManager[None]],
    before: Callable[[], None] | None = None,
) -> bool:
    """Runs every recorded call of `owner.name` inside a context; `before` runs first."""

    def make(original: AnyFunction) -> AnyFunction:
        def call(*args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None:
                return original(*args, **kwargs)
            if before is not None:
                before()
            with context(rec):
                return original(*args, **kwargs)

        return call

    return replace(owner, name, make)


def batch_length(data: Any) -> int:
    """Samples in a batch, from the first dimension of its first array; 0 unknown."""
    try:
        shape = getattr(first_array(data), "shape", None)
        return int(shape[0]) if shape is not None and len(shape) else 0
    except Exception:  # a property of a batch of the program's own class may raise anything
        return 0


def first_array(data: Any, depth: int = 3) -> Any:
    """What comes first in a batch and has a shape; None where nothing does."""
    if isinstance(data, (str, bytes)) or depth == 0:
        return None
    if getattr(data, "shape", None) is not None:
        return data
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (list, tuple)) and data:
        return first_array(data[0], depth - 1)
    return None
