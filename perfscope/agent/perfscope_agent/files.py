"""Whose code a file is: the agent's, the program's, or that of Python and installed packages."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Optional

AGENT = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def is_program(file: str) -> bool:
    """Whether the file belongs to the program itself."""
    return not (
        file.startswith(("<", _STANDARD_LIBRARY, AGENT))
        or "/site-packages/" in file
        or "/dist-packages/" in file
    )


def program_frame(frame: Optional[FrameType]) -> Optional[FrameType]:
    """The innermost frame of the program, of a frame and those that called it; None without one."""
    while frame is not None and not is_program(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
