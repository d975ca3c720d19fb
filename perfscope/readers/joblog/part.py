"""What reads the lines of one library in the log of a job."""

from pathlib import Path
from typing import Protocol

from perfscope.schema.other_tools import ToolReport


class Part(Protocol):
    """One library's lines: fed line by line, and reduced at the end."""

    def take(self, line: str) -> bool:
        """Whether the line is this library's."""

    def report(self, path: Path) -> ToolReport | None:
        """What its lines come to; None where they tell nothing."""
