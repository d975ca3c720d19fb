"""C programs linked to an MPI library, whose symbols are in the program's own scope."""

import subprocess
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import Recording
from tests.native.recorder.running import Job
from tests.support import environments
from tests.support.requirements import require_tool

OPENMPI, MPICH, STANDARD = 1, 2, 3
ABORTED, EXITED, FINALIZED = 8, 16, 4

# Intel's wheel brings no compiler wrapper: its library takes programs built for MPICH.
VARIANTS = {
    "mpich": ("mpich", "mpicc", "mpich", MPICH),
    "mpich-standard-abi": ("mpich", "mpicc_abi", "mpich", STANDARD),
    "openmpi": ("openmpi", "mpicc", "openmpi", OPENMPI),
    "intelmpi": ("mpich", "mpicc", "intelmpi", MPICH),
    "intelmpi-standard-abi": ("mpich", "mpicc_abi", "intelmpi", STANDARD),
}


def build(compiler: Path, directory: Path) -> Path:
    """The program, not position-independent: variables of the library are copied into it."""
    require_tool("cc")
    program = directory / "direct"
    source = running.JOBS / "direct.c"
    subprocess.run([compiler, "-no-pie", "-w", "-o", program, source], check=True)
    return program


def run(variant: str, library: Path, place: Path, argument: str) -> tuple[Job, int]:
    """Builds and runs the program on two ranks; with the ABI that must be found."""
    builder, wrapper, runner, abi = VARIANTS[variant]
    place.mkdir(exist_ok=True)
    program = build(environments.environment(builder).prefix / "bin" / wrapper, place)
    mpi = environments.mpi(runner)
    variables = {**mpi.variables, "LD_LIBRARY_PATH": str(mpi.environment.prefix / "lib")}
    command = mpi.command(2, program, argument)
    job = running.run(command, library, place / "run", variables=variables)
    return job, abi


def described(recording: Recording) -> list[tuple[str, int, int, int, int]]:
    """Name, peer, tag and bytes of every operation but MPI_Init_thread."""
    return [(r.name, r.peer, r.tag, r.sent, r.received) for r in recording.operations()][1:]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_program_linked_to_the_library(variant: str, library: Path, tmp_path: Path) -> None:
    job, abi = run(variant, library, tmp_path, "0")
    assert job.exit_code == 0, job.stderr
    assert len(job.recordings) == 2
    for rank, recording in enumerate(job.recordings):
        other = 1 - rank
        assert recording.header["abi"] == abi
        assert recording.rank == rank
        assert described(recording) == [
            ("MPI_Irecv", other, 9, 0, 24),
            ("MPI_Isend", other, 9, 24, 0),
            ("MPI_Waitall", -1, -1, 0, 0),
            ("MPI_Sendrecv", other, 3, 4, 4),
            ("MPI_Allreduce", -1, -1, 16, 16),
            ("MPI_Comm_split", -1, -1, 0, 0),
            ("MPI_Barrier", -1, -1, 0, 0),
            ("MPI_Finalize", -1, -1, 0, 0),
        ]
        assert recording.flags & (ABORTED | EXITED | FINALIZED) == EXITED | FINALIZED
        [text] = recording.texts[4]
        assert Path(text.split("\n")[0]).is_absolute()


@pytest.mark.parametrize("variant", ["mpich", "openmpi", "intelmpi"])
def test_an_abort_leaves_its_code(variant: str, library: Path, tmp_path: Path) -> None:
    job, _ = run(variant, library, tmp_path, "abort")
    assert job.exit_code != 0
    aborted = job.recordings[1]
    assert aborted.flags & ABORTED
    assert aborted.header["exit_code"] == 7
    [call] = aborted.operations("MPI_Abort")  # MPICH returns from it and is killed a little later
    assert call.comm == 0
    assert not job.recordings[0].flags & (ABORTED | FINALIZED)


def test_an_exit_code_is_kept(library: Path, tmp_path: Path) -> None:
    job, _ = run("mpich", library, tmp_path, "3")
    assert {r.header["exit_code"] for r in job.recordings} == {3}
