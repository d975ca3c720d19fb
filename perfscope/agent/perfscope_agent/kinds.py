"""What annotations name: nobody evaluates them, so no process of a job loads `typing` for them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, ModuleType, TracebackType
    from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Tuple

    AnyFunction = Callable[..., Any]
else:
    CodeType = FrameType = ModuleType = TracebackType = None
    Any = AnyFunction = Callable = Iterable = Iterator = Mapping = Sequence = Tuple = None

__all__ = [
    "Any",
    "AnyFunction",
    "Callable",
    "CodeType",
    "FrameType",
    "Iterable",
    "Iterator",
    "Mapping",
    "ModuleType",
    "Sequence",
    "TracebackType",
    "Tuple",
]
