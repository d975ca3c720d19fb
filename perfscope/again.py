"""The command that records a run again."""

import shlex
from collections.abc import Sequence

LONGEST_COMMAND = 120
"""Of a command that is told to be run again; a longer one only hides what is said."""


def record_again(command: Sequence[str]) -> str:
    """What to type to record a run again; "" where its command is not known, or long."""
    told = shlex.join(command)
    return f"perfscope run -- {told}" if 0 < len(told) <= LONGEST_COMMAND else ""
