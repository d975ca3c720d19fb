"""Starts jobs with the recorder preloaded by hand, as `perfscope run` does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.native.recorder.decode import Recording, decode_all
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import job_variables
from tests.support.requirements import require_tool

JOBS = Path(__file__).parent / "jobs"
TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Job:
    """A finished job and what it left."""

    exit_code: int  # of the launcher, negative after a signal
    stdout: str  # what the job printed
    stderr: str  # likewise
    directory: Path  # the run directory

    @property
    def recordings(self) -> list[Recording]:
        """By rank."""
        return decode_all(self.directory)

    def succeeded(self) -> Job:
        """Itself, after checking that the job ended well and said nothing on stderr."""
        assert self.exit_code == 0, self.stderr
        assert self.stderr == ""
        return self


def preload_variables(library: Path, directory: Path) -> dict[str, str]:
    """What a job's environment must hold to be recorded below a directory."""
    return {
        "LD_PRELOAD": str(library),
        "PERFSCOPE_DIR": str(directory),
        "PERFSCOPE_RECORDER": str(library),
        "OMPI_MCA_mca_base_env_list": "LD_PRELOAD;PERFSCOPE_DIR",
    }


def run(
    command: Sequence[str | Path],
    library: Path,
    directory: Path,
    *,
    variables: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Job:
    """Runs a command recorded below `directory`, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    recorded = preload_variables(library, directory) | dict(variables or {})
    recorded.setdefault("PYTHONPATH", str(REPOSITORY))  # for jobs that look at what is recorded
    done = subprocess.run(
        [str(word) for word in command],
        env=job_variables(recorded),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Job(done.returncode, done.stdout, done.stderr, directory)


def interposing(text: str, place: Path) -> Path:
    """A library of these C functions, to be preloaded before the recorder: it then calls them."""
    source, made = place / "interposing.c", place / "interposing.so"
    source.write_text(text, encoding="utf-8")
    subprocess.run([require_tool("cc"), "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def python_command(program: str, *arguments: str) -> list[str | Path]:
    """A command line that runs one of the programs in jobs/ with this Python, without MPI."""
    return [sys.executable, JOBS / program, *arguments]


def run_mpi(
    mpi: Mpi,
    ranks: int,
    program: str,
    *arguments: str,
    library: Path,
    directory: Path,
    variables: Mapping[str, str] | None = None,
) -> Job:
    """Runs one of the Python programs in jobs/ under an MPI library."""
    command = mpi.python_command(ranks, JOBS / program, *arguments)
    merged = {**mpi.variables, **(variables or {})}
    return run(command, library, directory, variables=merged)
