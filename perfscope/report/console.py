"""The console that summaries are printed on: of what it is given it shows every character."""

import sys
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from perfscope.output import LONGEST_LINE, visible


class VisibleConsole(Console):
    """A console that takes texts alone and prints no character that cannot be seen."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints lines of text; styles are those of a `Text`, never markup in it."""
        shown = [_visible(found) for found in objects]
        super().print(*shown, **{"highlight": False, **options, "markup": False})


def _visible(found: object) -> Text:
    text = found.copy() if isinstance(found, Text) else Text(str(found))
    text.plain = visible(text.plain, longest=LONGEST_LINE)
    return text


def console() -> Console:
    """Of stdout as it is now."""
    return VisibleConsole(file=sys.stdout)


def live_screen() -> Live:
    """The terminal for texts that replace each other, each made visible before; see `Live.update`.

    The cursor is hidden and comes back at the end, as does what the terminal showed before.
    """
    return Live(
        Text(), console=Console(file=sys.stdout, highlight=False), screen=True, auto_refresh=False
    )
