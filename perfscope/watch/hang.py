"""Saves a picture of a hanging job; a separate process that `perfscope run` starts beside it.

Its arguments are the run directory and the seconds after which a job is said to hang. It only reads
what the recorder writes, so that it needs nothing of the job. It ends when its standard input does:
with `perfscope run`, however that ends.
"""

import os
import select
import sys
import time
from dataclasses import replace
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.files import replace_file
from perfscope.output import tell
from perfscope.units import format_seconds
from perfscope.watch import page, text
from perfscope.watch.blocks import blocks
from perfscope.watch.look import look
from perfscope.watch.picture import Picture, ProcessNow
from perfscope.watch.processes import descendants

NAME = "hang"
MOST_PICTURES = 9
LOOKS = 4
"""In the time after which a job is said to hang."""
SHORTEST_S = 0.5
LEAST_WINDOW_S = 60.0


def watch(directory: Path, after_s: float, job: int | None = None) -> None:
    """Writes `hang-1.txt` and `hang-1.html` when no rank has begun or ended anything for a while.

    A job that goes on and hangs again gets the next number. The processes that `job`, the process
    of `perfscope run`, has started are shown as well, None for none. Where the recording cannot be
    read for as long, that is said once: a hang would not be seen.
    """
    kept, is_hanging, is_recorded = 0, False, False
    read_s, is_blind = time.monotonic(), False
    while not _is_over(max(SHORTEST_S, after_s / LOOKS)) and kept < MOST_PICTURES:
        picture = _look(directory, max(LEAST_WINDOW_S, 2 * after_s))
        if picture is None or (is_recorded and not picture.ranks):
            unread_s = time.monotonic() - read_s  # what was there cannot be read now
            if unread_s >= after_s and not is_blind:
                is_blind = True
                _tell_blind(directory, unread_s)
            continue
        read_s, is_blind = time.monotonic(), False
        is_recorded = bool(picture.ranks)
        hangs = not picture.is_over and picture.stalled_s >= after_s
        if hangs and not is_hanging:
            kept += 1
            base = directory / f"{NAME}-{kept}"
            path = keep(replace(picture, processes=_there(job)), base, stall_s=after_s)
            _tell(path, picture)
        is_hanging = hangs


def _there(job: int | None) -> tuple[ProcessNow, ...]:
    try:
        return () if job is None else descendants(job, without=os.getpid())
    except OSError:
        return ()  # no /proc here


def _look(directory: Path, window_s: float) -> Picture | None:
    """A picture of now, None where nothing can be read."""
    try:
        return look(directory, window_s=window_s)
    except UnreadableInputError:
        return None


def _tell(path: Path, picture: Picture) -> None:
    how_long = format_seconds(picture.stalled_s)
    if not picture.ranks:
        tell(f"perfscope: no process has called MPI or run Python for {how_long}; the job's")
        tell(f"perfscope: processes on this host are in {path}")
    else:
        tell(f"perfscope: no rank has begun or finished a call, phase or step for {how_long};")
        tell(f"perfscope: the stacks and pending collectives of all ranks are in {path}")


def _tell_blind(directory: Path, unread_s: float) -> None:
    tell(f"perfscope: --on-hang has not been able to read {directory} for")
    tell(f"perfscope: {format_seconds(unread_s)}: whether the job gets on is not known")


def keep(picture: Picture, base: Path, *, stall_s: float) -> Path:
    """Writes a picture of all ranks as text and as a page; returns the path of the text.

    Raises:
        OSError: it cannot be written.
    """
    shown = blocks(picture, stall_s=stall_s, all_ranks=True)
    lines = [time.strftime("%Y-%m-%d %H:%M:%S %z"), *(line.plain for line in text.lines(shown))]
    if picture.ranks and not picture.starting:
        lines += ["", "Python stacks", *text.stacks(picture)]
    path = base.with_suffix(".txt")
    replace_file(path, "\n".join([*lines, ""]).encode("utf-8", "backslashreplace"))
    page.write(shown, base.with_suffix(".html"), source=picture.source, refresh_s=None)
    return path


def _is_over(wait_s: float) -> bool:
    """Waits, and tells whether what started this program is gone."""
    ready, _, _ = select.select([0], [], [], wait_s)
    return bool(ready)


def main() -> None:
    """Watches a directory at low priority; what goes wrong is said in one line."""
    directory, after_s, job = Path(sys.argv[1]), float(sys.argv[2]), os.getppid()
    os.nice(5)
    try:
        watch(directory, after_s, job)
    except Exception as error:  # noqa: BLE001 - the job goes on, and its user is told
        tell(f"perfscope: --on-hang looks no more: {type(error).__name__}: {error}")
