"""Ends a job on request after a step: `perfscope run --stop-after N`."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

from perfscope.files import head_of
from perfscope.structures import dataclass

STOP_FILE = "stop-after"
"""Written into the run directory by the agent of rank 0 when the step has been recorded."""
LOOK_EVERY_S = 0.2
KILL_AFTER_S = 60.0
_LONGEST_NUMBER = 32
_MOST_PROCESSES = 100_000
_IN_FRONT = frozenset("sh bash dash zsh ksh busybox timeout time nohup nice stdbuf".split())


@dataclass
class StopRequest:
    """The wish to end the job after a step, and how far it has been followed."""

    directory: Path  # the run directory
    after: int  # the step after which the job is ended
    tell: Callable[[str], None]  # says something to the user
    # the step that had been recorded when the job was ended, None until then
    stopped_after: int | None = None
    stopped_mono_ns: int | None = None  # when that was, None until then
    _victims: list[int] = field(default_factory=list)
    _is_killed: bool = False

    def look(self, job: int) -> None:
        """Ends the job when rank 0 has recorded the step; to be called again and again.

        Args:
            job: process id of the command.
        """
        if self.stopped_mono_ns is None:
            number = self._recorded_step()
            if number is not None:
                self._end(job, number)
        elif not self._is_killed:
            waited_s = (time.monotonic_ns() - self.stopped_mono_ns) / 1e9
            if waited_s > KILL_AFTER_S:
                self._is_killed = True
                self.tell(
                    f"the job still runs {KILL_AFTER_S:.0f} s after SIGTERM; it gets SIGKILL now"
                )
                _send(self._victims, signal.SIGKILL)

    def _recorded_step(self) -> int | None:
        try:
            text = head_of(self.directory / STOP_FILE, _LONGEST_NUMBER).decode("ascii").strip()
        except (OSError, ValueError):
            return None
        return int(text) if text.isdigit() else None

    def _end(self, job: int, number: int) -> None:
        self.stopped_after, self.stopped_mono_ns = number, time.monotonic_ns()
        self.tell(
            f"rank 0 has recorded step {number}: the job is ended now, as --stop-after {self.after}"
            " asks for, with SIGTERM; what it prints of that is no failure"
        )
        # A shell dies of SIGTERM and leaves its mpirun behind; if only that died, the script's
        # next command would start.
        self._victims = [job, *_launchers_below(job)]
        _send(self._victims, signal.SIGTERM)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _launchers_below(job: int) -> list[int]:
    """The children of the job as far as shells started them; a launcher ends its ranks itself."""
    found: list[int] = []
    waiting = [job] if _is_shell(job) else []
    while waiting and len(found) < _MOST_PROCESSES:
        for child in _children(waiting.pop()):
            found.append(child)
            if _is_shell(child):
                waiting.append(child)
    return found


def _children(pid: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The second field, the command, may hold spaces and parentheses.
            fields = path.read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == pid:
                yield int(path.parent.name)


def _is_shell(pid: int) -> bool:
    """Whether a process is a script, or stands in front of a command; some mpirun are scripts."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name in _IN_FRONT
    except OSError:
        return False
