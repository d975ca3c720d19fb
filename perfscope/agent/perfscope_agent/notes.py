"""Problems of the agent in one sentence each; they go into the metadata file and nowhere else."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

MAX_NOTES = 50

notes: list[str] = []


def add(text: str) -> None:
    """Keeps a note once; beyond the limit it is dropped."""
    if text not in notes and len(notes) < MAX_NOTES:
        notes.append(text)


def failure(where: str, error: BaseException) -> None:
    """Notes that a part of the agent failed and was skipped.

    Raises:
        Exception: that error, where the program's own handler of a signal raised it, which only
            happened to run meanwhile.
    """
    pass_on(error)
    try:
        told = str(error)[:200]
    except Exception:  # an exception of the program's own may not even tell what it is
        told = "no message"
    add("%s: %s: %s" % (where, type(error).__name__, told))


def pass_on(error: BaseException) -> None:
    """Raises an error that the program's own handler of a signal raised, and no other one."""
    traceback, handlers = error.__traceback__, None
    while traceback is not None:
        handlers = _handlers() if handlers is None else handlers
        if traceback.tb_frame.f_code in handlers:
            raise error
        traceback = traceback.tb_next


def _handlers() -> list[CodeType]:
    """The code of the program's handlers of signals, as far as they are functions of Python.

    Who sets one has loaded the module for that: nothing is imported, which might fail.
    """
    signal: Any = sys.modules.get("signal") or sys.modules.get("_signal")
    if signal is None:
        return []
    found = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    return [code for code in map(_code, found) if code is not None]


def _code(handler: Any) -> CodeType | None:
    """What a handler runs, also of a method, a partial function or an object that is called."""
    try:
        function = getattr(handler, "func", getattr(handler, "__func__", handler))
        if not hasattr(function, "__code__") and callable(function):
            function = type(function).__call__
        code: CodeType | None = getattr(function, "__code__", None)
    except Exception:  # attributes of the program's own objects may be anything
        return None
    return code
