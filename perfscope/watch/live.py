"""Shows pictures of a running job one after the other, until it is over."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.text import Text

from perfscope.errors import UnreadableInputError
from perfscope.output import say
from perfscope.report.console import console, live_screen
from perfscope.structures import dataclass
from perfscope.watch import page, text
from perfscope.watch.blocks import Block, blocks
from perfscope.watch.look import WINDOW_S, look
from perfscope.watch.picture import Picture

SHARE = 0.2
"""Of one core, what looking may take at most: large jobs are looked at less often."""
WAITED_FOR_S = 60.0
"""So long a job may take until its first process is recorded."""


@dataclass(frozen=True)
class View:
    """What the user wants to see."""

    path: Path  # the run directory
    html: Path | None = None  # the page to write, None for none
    interval_s: float = 2.0  # between two pictures
    window_s: float = WINDOW_S  # what rates and efficiencies are taken over
    stall_s: float = 30.0  # without progress for so long the job is called stalled
    all_ranks: bool = False  # no rank is left out

    def look(self) -> Picture:
        """A picture of now.

        Raises:
            UnreadableInputError: nothing is recorded.
        """
        return look(self.path, window_s=self.window_s)

    def blocks(self, picture: Picture) -> list[Block]:
        """What is shown of a picture."""
        return blocks(picture, stall_s=self.stall_s, all_ranks=self.all_ranks)


def show_once(view: View) -> Picture:
    """Prints one picture, or writes it as a page that changes no more.

    Raises:
        UnreadableInputError: nothing is recorded.
        OSError: the page cannot be written.
    """
    picture = view.look()
    shown = view.blocks(picture)
    if view.html is not None:
        page.write(shown, view.html, source=str(view.path), refresh_s=None)
        say(f"Written: {view.html}")
    else:
        _print(shown)
    return picture


def show(view: View, *, is_terminal: bool) -> Picture:
    """Shows pictures until the job is over, and the last one for good.

    Raises:
        UnreadableInputError: nothing is recorded, and nothing came.
        OSError: the page cannot be written.
    """
    began_s = time.process_time()
    picture = _first(view)
    on_screen = is_terminal and view.html is None
    if view.html is not None:
        say(f"Open {view.html} in a browser; it is written anew until the job is over.")
    with live_screen() if on_screen else nullcontext() as screen:
        while not picture.is_over:
            shown = view.blocks(picture)
            pause_s = view.interval_s
            if screen is not None:
                screen.update(
                    Text("\n").join(text.lines(shown, screen.console.width)), refresh=True
                )
            if view.html is not None:
                page.write(shown, view.html, source=str(view.path), refresh_s=pause_s)
            time.sleep(max(pause_s, (time.process_time() - began_s) / SHARE))
            began_s = time.process_time()
            picture = view.look()
    shown = view.blocks(picture)
    if view.html is not None:
        page.write(shown, view.html, source=str(view.path), refresh_s=None)
    _print(shown)
    return picture


def _first(view: View) -> Picture:
    """The first picture, also of a job that is only starting."""
    end_s = time.monotonic() + WAITED_FOR_S
    while True:
        try:
            return view.look()
        except UnreadableInputError:
            if not view.path.is_dir() or time.monotonic() > end_s:
                raise
        time.sleep(min(view.interval_s, 1.0))


def _print(shown: Sequence[Block]) -> None:
    terminal = console()
    for line in text.lines(shown, terminal.width if terminal.is_terminal else None):
        say(line.plain)
