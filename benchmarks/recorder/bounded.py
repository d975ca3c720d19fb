"""Commands that are measured: each has an end, whatever it does."""

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST_S = 60.0
_SETTLE_S = 5.0

Command = Sequence[str | Path]


class MeasurementError(Exception):
    """A command that was to be measured failed or had no end; the text says which."""


@dataclass(frozen=True)
class Finished:
    """A command that ended well."""

    output: str  # what it printed
    wall_s: float  # from its start to its end
    cpu_s: float  # of it and all that it started and waited for


def run(
    command: Command, variables: Mapping[str, str], *, longest_s: float = LONGEST_S
) -> Finished:
    """Runs a command to its end; after `longest_s` its whole process group is killed.

    Raises:
        MeasurementError: it failed, or took longer.
    """
    words = [str(word) for word in command]
    before, cpu_before = time.perf_counter(), _children_cpu_s()
    process = subprocess.Popen(
        words,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=longest_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise MeasurementError(f"no end after {longest_s:.0f} s: {' '.join(words)}") from None
    except BaseException:
        _end(process)
        raise
    wall_s, cpu_s = time.perf_counter() - before, _children_cpu_s() - cpu_before
    if process.returncode != 0:
        raise MeasurementError(f"failed: {' '.join(words)}\n{errors[-2000:]}")
    return Finished(output, wall_s, cpu_s)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end(process: subprocess.Popen[str]) -> None:
    """SIGTERM first: perfscope and mpirun pass it on to ranks in sessions of their own."""
    for number, patience_s in ((signal.SIGTERM, _SETTLE_S), (signal.SIGKILL, _SETTLE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=patience_s)
            return
