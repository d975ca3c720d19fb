"""Saves a picture of a hanging job; a separate process that `perfscope run` starts beside it.

Its arguments are the run directory and the seconds after which a job is said to hang. It only reads
what the recorder writes, so that it needs nothing of the job. It ends when its standard input does:
with `perfscope run`, however that ends.
"""

import os
import select
import sys
import time
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.files import replace_file
from perfscope.output import tell
from perfscope.units import format_seconds
from perfscope.watch import page, text
from perfscope.watch.blocks import blocks
from perfscope.watch.look import look
from perfscope.watch.picture import Picture

NAME = "hang"
MOST_PICTURES = 9
LOOKS = 4
"""In the time after which a job is said to hang."""
SHORTEST_S = 0.5
LEAST_WINDOW_S = 60.0


def watch(directory: Path, after_s: float) -> None:
    """Writes `hang-1.txt` and `hang-1.html` when no rank has made progress for some time.

    A job that goes on and hangs again gets the next number.
    """
    kept, is_hanging = 0, False
    while not _is_over(max(SHORTEST_S, after_s / LOOKS)) and kept < MOST_PICTURES:
        try:
            picture = look(directory, window_s=max(LEAST_WINDOW_S, 2 * after_s))
        except UnreadableInputError:
            continue  # nothing is recorded yet
        hangs = not picture.is_over and picture.stalled_s >= after_s
        if hangs and not is_hanging:
            kept += 1
            path = keep(picture, directory / f"{NAME}-{kept}", stall_s=after_s)
            how_long = format_seconds(picture.stalled_s)
            tell(f"perfscope: no rank has made progress for {how_long}; the stacks and pending")
            tell(f"perfscope: collectives of all ranks are in {path}")
        is_hanging = hangs


def keep(picture: Picture, base: Path, *, stall_s: float) -> Path:
    """Writes a picture of all ranks as text and as a page; returns the path of the text.

    Raises:
        OSError: it cannot be written.
    """
    shown = blocks(picture, stall_s=stall_s, all_ranks=True)
    moment = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(picture.at_unix_s))
    lines = [moment, *(line.plain for line in text.lines(shown)), "", "Python stacks"]
    content = "\n".join([*lines, *text.stacks(picture), ""])
    path = base.with_suffix(".txt")
    replace_file(path, content.encode("utf-8", "backslashreplace"))
    page.write(shown, base.with_suffix(".html"), source=picture.source, refresh_s=None)
    return path


def _is_over(wait_s: float) -> bool:
    """Waits, and tells whether what started this program is gone."""
    ready, _, _ = select.select([0], [], [], wait_s)
    return bool(ready)


def main() -> None:
    """Watches a directory at low priority; what goes wrong is said in one line."""
    directory, after_s = Path(sys.argv[1]), float(sys.argv[2])
    os.nice(5)
    try:
        watch(directory, after_s)
    except Exception as error:  # noqa: BLE001 - the job goes on, and its user is told
        tell(f"perfscope: --on-hang looks no more: {type(error).__name__}: {error}")
