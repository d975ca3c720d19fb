"""Which reader opens a path, decided by what lies there and never by its name."""

from __future__ import annotations

from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.recording import is_recording, open_recording
from perfscope.trace.model import Trace


def open_trace(path: Path) -> Trace:
    """The trace stored at `path`, whatever its format.

    Raises:
        UnreadableInputError: nothing is there, or no reader knows it.
    """
    if not path.exists():
        raise UnreadableInputError(
            f"There is nothing at {path}.",
            why="The path does not exist.",
            action="Record a run first: perfscope run -- mpirun -n 2 python train.py",
        )
    if is_recording(path):
        return open_recording(path)
    raise UnreadableInputError(
        f"{path} is not a trace that perfscope can read.",
        why="It is not a run directory: it holds neither run.json nor recordings (*.rec).",
        action="Give the directory that `perfscope run` printed, by default trace/.",
    )
