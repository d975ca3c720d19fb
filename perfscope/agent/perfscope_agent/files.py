"""Whose code a file is: the agent's, the program's, or that of Python and installed packages."""

from __future__ import annotations

import os

AGENT = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def is_program(file: str) -> bool:
    """Whether the file belongs to the program itself."""
    return not (
        file.startswith(("<", _STANDARD_LIBRARY, AGENT))
        or "/site-packages/" in file
        or "/dist-packages/" in file
    )
