"""Programs that a check starts: bounded in time, and ended with all that they started."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfscope.structures import dataclass


@dataclass(frozen=True)
class Finished:
    """What a program left behind."""

    # its code, negative after a signal, None when it took too long or never started
    exit_code: int | None
    stdout: str  # what it printed
    stderr: str  # what it printed there; why it did not start, if it did not
    is_late: bool = False  # whether it was ended because it took too long


def finish(
    command: Sequence[str | Path], *, environment: Mapping[str, str], timeout_s: float
) -> Finished:
    """Runs a program in a session of its own; nothing of it is left afterwards."""
    try:
        process = subprocess.Popen(
            [str(word) for word in command],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Finished(None, "", f"{command[0]}: {error.strerror}")
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        return Finished(process.returncode, stdout, stderr)
    except subprocess.TimeoutExpired:
        _end(process.pid, signal.SIGTERM)
        try:
            stdout, stderr = process.communicate(timeout=3)
        except subprocess.TimeoutExpired:
            _end(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        return Finished(None, stdout, stderr, is_late=True)


def _end(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def last_line(text: str) -> str:
    """The last line of an error text that says something, "" without any."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -=*")]
    return lines[-1] if lines else ""
