"""Where the program calls PyTorch, and what its evaluations are called after that."""

from __future__ import annotations

import os
import sys

from .. import files, metadata, places, recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

BY_MODE = "eval_mode: "
"""A model is set to evaluation, and to training again; what is done meanwhile is not known."""

BY_BATCHES = "eval_batches: "
"""Batches of a loader are read meanwhile, without gradients."""


_MOST_LOOKS = 64
"""Backward passes whose stacks are looked at: the program's loops go the same way each time."""

_looks = 0
_seen: set[tuple[int, int]] = set()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _looks
    _looks = 0
    _seen.clear()


def trains() -> None:
    """Notes the program's lines that a backward pass is called from, directly and at last."""
    global _looks
    if _looks == _MOST_LOOKS:
        return
    _looks += 1
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        if files.is_program(code.co_filename) and (id(code), line) not in _seen:
            _seen.add((id(code), line))
            name, file, _ = places.Places().where(code, 0)
            told = metadata.facts.setdefault("updates", [])
            told.append(recorder.place_text(name, file, line))
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
