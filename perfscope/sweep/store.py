"""The directory of a sweep: each run in a directory of its own, finished by one rename.

`working/RUN` is a run under way, `runs/RUN` a finished one with its record. When the sweep is
killed, the run under way goes on; the next sweep waits for its end and brings it in. One that was
cut short itself is taken away and made again.
"""

import fcntl
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.files import flush_directory, replace_file
from perfscope.structures import dataclass
from perfscope.sweep import outcome
from perfscope.sweep.outcome import OUTCOME_FILE, RECORDING, TIME_LIMIT_FILE
from perfscope.sweep.plan import Run, unwritable

WORKING, RUNS = "working", "runs"
LOCK_FILE = ".lock"
WAIT_FOR_SURVIVORS_S = 10.0
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Claim:
    """A run that this process alone may make."""

    directory: Path  # where it works, until it is finished
    lock: int  # a descriptor that its processes inherit: as long as one lives, the run is taken


class Store:
    """The runs of a sweep on disk."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def finished(self, run: Run) -> Path | None:
        """The directory of a finished run, None when it has to be made."""
        found = self.place / RUNS / run.name
        return found if (found / OUTCOME_FILE).is_file() else None

    @contextmanager
    def claim(
        self,
        run: Run,
        *,
        limit_s: float | None = None,
        while_waiting: Callable[[float], None] = lambda _: None,
    ) -> Iterator[Claim | None]:
        """Takes a run; None when it turned out to be finished.

        At most `limit_s` is waited for one that a killed sweep left under way; `while_waiting` is
        called again and again with its age.

        Raises:
            UsageError: another process is making it, or the directory cannot be written.
        """
        working = self.place / WORKING / run.name
        try:
            working.mkdir(parents=True, exist_ok=True)
            (self.place / RUNS).mkdir(exist_ok=True)
            lock = os.open(working.with_name(f"{run.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise unwritable(self.place, error) from error
        try:
            _take(lock, run, working, limit_s=limit_s, while_waiting=while_waiting)
            os.truncate(lock, 0)
            os.pwrite(lock, _identity(os.getpid()).encode("ascii", "replace"), 0)
            if self.finished(run) is not None or self._brought_in(run):
                shutil.rmtree(working, ignore_errors=True)
                yield None
                return
            shutil.rmtree(working)
            working.mkdir()
            yield Claim(working, lock)
        finally:
            os.close(lock)

    def commit(self, claim: Claim, run: Run, found: outcome.Outcome) -> Path:
        """Makes a run a finished one.

        Raises:
            OSError: the file system takes nothing.
        """
        number = run.configuration.number
        outcome.write(claim.directory, found, run=run.name, configuration=number, repeat=run.repeat)
        return self._rename(run)

    def _brought_in(self, run: Run) -> bool:
        """Finishes a run that came to its end when nobody was left to note it."""
        working = self.place / WORKING / run.name
        if not (working / OUTCOME_FILE).is_file():
            found = outcome.from_recording(working)
            if found is None:
                return False
            number = run.configuration.number
            outcome.write(working, found, run=run.name, configuration=number, repeat=run.repeat)
        self._rename(run)
        return True

    def _rename(self, run: Run) -> Path:
        target = self.place / RUNS / run.name
        if target.exists():  # without a record: nothing that a sweep finished
            shutil.rmtree(target)
        (self.place / WORKING / run.name).rename(target)
        flush_directory(target.parent)
        with suppress(OSError):
            (self.place / WORKING / f"{run.name}.lock").unlink()
        return target


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Keeps a second sweep out of a directory.

    Raises:
        UsageError: one is at work there, or the directory cannot be written.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise unwritable(place, error) from error
    try:
        if not _is_free(lock):
            raise UsageError(
                f"Another perfscope sweep is at work in {place}.",
                why="Two at once would disturb each other's measurements.",
                action="Wait for it, or choose another directory with -o DIR.",
            )
        yield
    finally:
        os.close(lock)


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _take(
    lock: int,
    run: Run,
    working: Path,
    *,
    limit_s: float | None,
    while_waiting: Callable[[float], None],
) -> None:
    """Takes a run; one that a killed sweep left under way comes to its end first."""
    if _is_free(lock):
        return
    if _is_alive(os.pread(lock, 1000, 0).decode("ascii", "replace")):
        raise _taken(run, "Another sweep is making it.")
    recording = working / RECORDING
    while not _is_free(lock):
        age_s = outcome.age_s(working)
        while_waiting(age_s)
        if outcome.is_over(working) or not _is_recorded(recording):
            end_processes(recording, until=lambda: _is_free(lock))
            _wait_for(lock, run)
        elif limit_s is not None and age_s > limit_s:
            replace_file(
                working / TIME_LIMIT_FILE, f"{limit_s:g} s\n".encode("ascii"), durable=True
            )
            end_processes(recording, until=lambda: _is_free(lock))
            _wait_for(lock, run)
        else:
            time.sleep(_LOOK_EVERY_S)


def _wait_for(lock: int, run: Run) -> None:
    """Waits for the last process of a run: `perfscope run` follows when its job has ended."""
    deadline = time.monotonic() + WAIT_FOR_SURVIVORS_S
    while not _is_free(lock):
        if time.monotonic() > deadline:
            raise _taken(run, "Something that it started is still alive, here or on another host.")
        time.sleep(_LOOK_EVERY_S)


def _is_recorded(recording: Path) -> bool:
    """Whether the `perfscope run` that records into a directory is there to write its end."""
    name = os.fsencode(recording)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if name in path.read_bytes().split(b"\0"):
                return True
    return False


def _taken(run: Run, why: str) -> UsageError:
    return UsageError(
        f"Run {run.name} is being made by another process.",
        why=why,
        action="Wait until it has ended, then perfscope sweep --resume.",
    )


def _identity(pid: int) -> str:
    """A process by host, number and start, "" of one that is gone or a zombie."""
    try:
        # The second field, the command, may hold spaces and parentheses.
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        state, ticks = words[0], words[19]
    except (OSError, IndexError):
        return ""
    if state in (b"Z", b"X"):
        return ""
    return f"{socket.gethostname()} {pid} {int(ticks)}"


def _is_alive(identity: str) -> bool:
    """Whether the process that took a run is one of this host and still there."""
    words = identity.split()
    return len(words) == 3 and words[1].isdigit() and _identity(int(words[1])) == identity


def end_processes(recording: Path, *, until: Callable[[], bool] = lambda: False) -> None:
    """Ends what a run left behind: first by waiting, then by SIGKILL."""
    patience_s = WAIT_FOR_SURVIVORS_S
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in processes_of(recording):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if until() or not processes_of(recording):
                return
            time.sleep(_LOOK_EVERY_S)
        patience_s = WAIT_FOR_SURVIVORS_S / 4


def processes_of(recording: Path) -> list[int]:
    """The processes on this host that record into a directory, by their environment."""
    sign = b"PERFSCOPE_DIR=" + os.fsencode(recording)
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if sign in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
