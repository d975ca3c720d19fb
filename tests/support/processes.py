"""Processes that tests start, watch and end."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.recording import job_variables, perfscope_command


@contextmanager
def started(
    command: Sequence[str | Path], *, cwd: Path, variables: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[str], None, None]:
    """A command running in a session of its own; what is left of it at the end is killed."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=job_variables(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill_session(process.pid)
        process.communicate()


@contextmanager
def perfscope_started(
    command: Sequence[str | Path], *, cwd: Path, variables: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[str], None, None]:
    """`perfscope run` on a command, writing to `trace` in `cwd`, running."""
    with started(perfscope_command("run", "--", *command), cwd=cwd, variables=variables) as process:
        yield process


def kill_session(leader: int) -> None:
    """Kills every process of a session."""
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader:
                os.kill(process.pid, signal.SIGKILL)


def with_argument(word: str) -> list[int]:
    """The processes that have a word in their command line, and are not dead."""
    found = psutil.process_iter(["cmdline", "status"])
    return [
        one.pid
        for one in found
        if word in (one.info["cmdline"] or []) and one.info["status"] != psutil.STATUS_ZOMBIE
    ]


def is_alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def status(pid: int) -> str:
    """The state of a process, psutil.STATUS_DEAD when there is none."""
    try:
        return str(psutil.Process(pid).status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)
