"""Looks beside a job whether it hangs: `perfscope run --on-hang SECONDS`."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from perfscope.output import tell
from perfscope.record.launch import without_recording

# Without the directory that the job is started in: its modules may be called as those needed here.
PROGRAM = """
import sys
sys.path[:] = [place for place in sys.path if place]
from perfscope.watch.hang import main
main()
"""
PICTURES = "hang-*.txt"
_LONGEST_END_S = 5.0


@contextlib.contextmanager
def watching(directory: Path, after_s: float | None) -> Iterator[None]:
    """Runs the watcher during the block; None for no watcher.

    It is a process of its own, in a session of its own: no signal of the terminal reaches it, and
    this one stays small. It ends when the pipe to it does, also when this process is killed.

    A picture is kept after `after_s` without progress of any rank.
    """
    watcher = None if after_s is None else _started(directory, after_s)
    try:
        yield
    finally:
        if watcher is not None:
            _end(watcher)


def _started(directory: Path, after_s: float) -> subprocess.Popen[bytes] | None:
    """The watcher; None where it cannot be started, and the job runs without."""
    try:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(directory), f"{after_s:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=without_recording(os.environ),
            start_new_session=True,
        )
    except OSError as error:
        tell(f"perfscope: --on-hang cannot look: {error.strerror}; the job runs without")
        return None


def _end(watcher: subprocess.Popen[bytes]) -> None:
    if watcher.stdin is not None:
        watcher.stdin.close()
    try:
        watcher.wait(_LONGEST_END_S)
    except subprocess.TimeoutExpired:
        watcher.kill()
        watcher.wait()


def pictures(directory: Path) -> list[str]:
    """The names of the pictures that were kept, in order."""
    return sorted(path.name for path in directory.glob(PICTURES))
