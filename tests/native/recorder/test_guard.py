"""Pages of the record file that cannot be written end neither the job nor its own signals."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.conftest import Start
from tests.native.recorder.decode import HEADER_BYTES, decode_all
from tests.support.environments import Mpi
from tests.support.recording import job_variables

CALLS = 300
DISK_FULL, EXITED = 32, 16
KINDS = ("handler", "ignored", "blocked", "faulthandler", "default", "killed")


@pytest.mark.parametrize(
    ("size", "blocked"),
    [
        *((size, "never") for size in (0, 1, 5000, HEADER_BYTES + 64 * 10)),
        *((0, blocked) for blocked in ("now", "always")),
    ],
)
def test_a_shortened_record_file_stops_recording_and_not_the_job(
    mpich: Mpi, start: Start, size: int, blocked: str
) -> None:
    job = start(mpich, 1, "shortened.py", str(CALLS), str(size), blocked)
    assert (job.exit_code, job.stdout) == (7, "1\n")
    [recording] = decode_all(job.directory)
    assert recording.flags & (DISK_FULL | EXITED) == DISK_FULL | EXITED
    assert any("could no longer be written" in note for note in recording.texts[6])
    assert recording.header["exit_code"] == 7
    assert recording.rank == 0
    assert recording.totals["MPI_Barrier"].count == 2 * CALLS


def outcome(kind: str, *, variables: dict[str, str], state: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [str(word) for word in running.python_command("bus_errors.py", kind, state)],
        env=job_variables(variables),
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr)


@pytest.mark.parametrize("state", ["whole", "shortened"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_signal_is_the_jobs_as_if_nothing_were_recorded(
    kind: str, state: str, library: Path, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    recorded = outcome(
        kind, variables=running.preload_variables(library, tmp_path / "run"), state=state
    )
    assert recorded == outcome(kind, variables={}, state=state)
    assert recorded[0] == (0 if kind in ("ignored", "blocked") else -signal.SIGBUS)
    assert list((tmp_path / "run").glob("*/*.rec"))
