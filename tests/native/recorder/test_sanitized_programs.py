"""Programs that are built with sanitizers end as they do unrecorded, and are recorded."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.test_direct import described
from tests.support import environments
from tests.support.recording import job_variables
from tests.support.requirements import require_tool

QUIET = {"ASAN_OPTIONS": "detect_leaks=0"}  # of which the MPI library has some
FAULTY = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    volatile int *numbers = malloc(4 * sizeof *numbers);
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    printf("%d\\n", WEXITSTATUS(status));
    fflush(stdout);
    if (count > 1) numbers[atoi(arguments[1])] = 1 << 30;
    return numbers[0] + 1 > 0 ? 0 : 7;
}
"""


def build(compiler: str | Path, sanitizer: str, source: Path) -> Path:
    """The program with this sanitizer, with its runtime as a shared library."""
    program = source.with_suffix("")
    options = ["-g", "-w", f"-fsanitize={sanitizer}"]
    subprocess.run([compiler, *options, "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_ranks_with_the_address_sanitizer_are_recorded(
    name: str, library: Path, tmp_path: Path
) -> None:
    source = tmp_path / "direct.c"
    source.write_text((running.JOBS / "direct.c").read_text(encoding="utf-8"), encoding="utf-8")
    require_tool("cc")
    program = build(environments.environment(name).prefix / "bin" / "mpicc", "address", source)
    mpi = environments.mpi(name)
    variables = {**mpi.variables, **QUIET}
    variables["LD_LIBRARY_PATH"] = str(mpi.environment.prefix / "lib")
    job = running.run(mpi.command(2, program, "0"), library, tmp_path / "run", variables=variables)
    assert job.exit_code == 0, job.stderr
    for recording in job.recordings:
        names = [call[0] for call in described(recording)]
        assert names[:3] == ["MPI_Irecv", "MPI_Isend", "MPI_Waitall"]
        assert names[-1] == "MPI_Finalize"


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
@pytest.mark.parametrize("place", [[], ["0"], ["4"]], ids=["unused", "inside", "outside"])
def test_what_a_sanitizer_finds_is_the_same(
    sanitizer: str, place: list[str], library: Path, tmp_path: Path
) -> None:
    source = tmp_path / "faulty.c"
    source.write_text(FAULTY, encoding="ascii")
    command: list[str | Path] = [build(require_tool("cc"), sanitizer, source), *place]
    plain = subprocess.run(
        command, env=job_variables(QUIET), capture_output=True, text=True, check=False
    )
    job = running.run(command, library, tmp_path / "run", variables=QUIET)
    assert (job.exit_code, job.stdout) == (plain.returncode, plain.stdout)
    told = [re.sub(r"0x[0-9a-f]+|\b\d+\b", "#", text) for text in (plain.stderr, job.stderr)]
    assert [text.partition("\n\n")[0] for text in told][1:] == [told[0].partition("\n\n")[0]]
    assert ("AddressSanitizer" in plain.stderr) == (sanitizer == "address" and place == ["4"])


def test_a_python_with_the_runtime_preloaded_is_recorded(library: Path, tmp_path: Path) -> None:
    """As for a module that is built with it: the user's own preloaded library stands behind."""
    asked: list[str | Path] = [require_tool("cc"), "-print-file-name=libasan.so"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    mpi = environments.mpi("mpich")
    variables = {**mpi.variables, **QUIET, "LD_PRELOAD": f"{library}:{found}"}
    command = mpi.python_command(2, running.JOBS / "calls.py", "3", "0")
    job = running.run(command, library, tmp_path / "run", variables=variables)
    assert job.exit_code == 0, job.stderr
    assert [recording.rank for recording in job.recordings] == [0, 1]
    assert all(recording.operations() for recording in job.recordings)
