"""The exception that ended the program, and tracebacks that do not show the agent's own frames."""

from __future__ import annotations

import os
import sys

from . import files, notes
from .kinds import Any, TracebackType
from .secrets.redact import redact_value

_LONGEST_MESSAGE = 500
_is_hook_installed = False


def last_exception() -> dict[str, Any] | None:
    """Type, message, file and line of the exception that ends the program, None without one.

    The interpreter keeps it in `sys.last_value` before the exit handlers run: nothing is hooked.
    """
    value = getattr(sys, "last_value", None)
    if not isinstance(value, BaseException) or sys.flags.interactive:
        return None
    file, line = _place(getattr(sys, "last_traceback", None))
    try:
        message = str(value)
    except Exception:
        message = ""
    return {
        "type": type(value).__name__,
        "message": redact_value(message)[:_LONGEST_MESSAGE],
        "file": file,
        "line": line,
    }


def _place(traceback: TracebackType | None) -> tuple[str, int]:
    """Innermost place outside installed packages, or the innermost one."""
    places = []
    while traceback is not None:
        places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    own = [place for place in places if files.is_program(place[0])]
    file, line = (own or places or [("", 0)])[-1]
    return (os.path.abspath(file) if file and file[0] != "<" else file), line


def hide_agent_frames() -> None:
    """Makes uncaught exceptions print as they would without the agent's wrappers."""
    global _is_hook_installed
    if _is_hook_installed:
        return
    _is_hook_installed = True
    following = sys.excepthook

    def excepthook(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        try:
            traceback = _strip(value, traceback)
        except Exception as error:
            notes.failure("traceback not cleaned", error)
        following(kind, value, traceback)

    sys.excepthook = excepthook


def _strip(value: BaseException, traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the agent's frames; those of the causes are changed in place."""
    seen = set()
    queue: list[BaseException | None] = [value]
    while queue:
        error = queue.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        error.__traceback__ = _without_agent(error.__traceback__)
        queue += [error.__cause__, error.__context__]
    return _without_agent(traceback)


def _without_agent(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and _is_agent(traceback):
        traceback = traceback.tb_next
    current = traceback
    while current is not None:
        following = current.tb_next
        while following is not None and _is_agent(following):
            following = following.tb_next
        if following is not current.tb_next:
            current.tb_next = following
        current = following
    return traceback


def _is_agent(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(files.AGENT)
