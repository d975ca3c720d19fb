"""Where the program calls PyTorch, and what its evaluations are called after that."""

from __future__ import annotations

import os
import sys

from .. import files, metadata, places, recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType

BY_MODE = "eval_mode: "
"""A model is set to evaluation, and to training again; what is done meanwhile is not known."""

BY_BATCHES = "eval_batches: "
"""Batches of a loader are read meanwhile, without gradients."""


_FIRST_LOOKS = 64
_LATER_LOOKS = 17
"""Of the backward passes the first are looked at, and behind them every so many-th.

A loop goes the same way each time; one that is entered later shall be seen as well. A prime
number, so that losses that take turns are met unless there are so many.
"""
_MOST_PLACES = 256
"""As far as they are kept: code that is made anew in each step is always another one."""

due = 1
"""The backward pass that is looked at next."""

_seen: dict[tuple[int, int], CodeType] = {}
"""By code and line: the code is kept, as another one may lie where it has lain."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global due
    due = 1
    _seen.clear()


def trains(passes: int) -> None:
    """Notes the program's lines that a backward pass is called from, directly and at last."""
    global due
    due = passes + (1 if passes < _FIRST_LOOKS else _LATER_LOOKS)
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        is_new = len(_seen) < _MOST_PLACES and (id(code), line) not in _seen
        if is_new and files.is_program(code.co_filename):
            _seen[id(code), line] = code
            name, file, _ = places.Places().where(code, 0)
            told = metadata.facts.setdefault("updates", [])
            text = recorder.place_text(name, file, line)
            if text not in told:
                told.append(text)
        frame = frame.f_back


def outside() -> str:
    """The innermost place of a stack that is neither PyTorch's nor perfscope's own."""
    library = os.path.dirname(getattr(sys.modules.get("torch"), "__file__", None) or "") + os.sep
    inside = (files.AGENT, library) if library != os.sep else (files.AGENT,)
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    file = os.path.basename(frame.f_code.co_filename)
    return "%s (%s:%d)" % (frame.f_code.co_name, file, frame.f_lineno)
