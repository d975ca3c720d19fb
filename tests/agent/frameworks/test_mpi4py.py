"""mpi4py programs: their ranks are described, however they were started."""

from pathlib import Path

from tests.agent.jobs import Job, recording_variables
from tests.support.environments import Mpi
from tests.support.recording import run_plain

RANK = """
from mpi4py import MPI
import numpy
MPI.COMM_WORLD.barrier()
"""
WRAPPER = """
import subprocess, sys
done = subprocess.run([sys.executable, sys.argv[1]], close_fds=False)
sys.exit(done.returncode)
"""


def start(mpi: Mpi, place: Path, *program: Path) -> Job:
    directory = place / "trace"
    variables = {**mpi.variables, **recording_variables(directory), "OPENBLAS_NUM_THREADS": "2"}
    done = run_plain(mpi.python_command(2, *program), cwd=place, variables=variables)
    assert (done.returncode, done.stderr) == (0, "")
    return Job(done.returncode, done.stdout.encode(), done.stderr.encode(), directory)


def test_ranks_are_described(mpich: Mpi, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(RANK)
    ranks = start(mpich, tmp_path, script).of_role("rank")
    assert sorted(int(rank.metadata["rank_environment"]["PMI_RANK"]) for rank in ranks) == [0, 1]
    for rank in ranks:
        assert rank.metadata["frameworks"]["mpi4py"]["vendor"] == "MPICH"
        assert set(rank.metadata["versions"]) >= {"mpi4py", "numpy"}
        assert rank.metadata["environment"]["OPENBLAS_NUM_THREADS"] == "2"
        assert rank.metadata["agent_notes"] == []


def test_program_started_by_a_wrapper_of_the_rank_is_the_rank(mpich: Mpi, tmp_path: Path) -> None:
    script, wrapper = tmp_path / "train.py", tmp_path / "wrapper.py"
    script.write_text(RANK)
    wrapper.write_text(WRAPPER)
    processes = start(mpich, tmp_path, wrapper, script).processes
    real = [
        p
        for p in processes
        if p.metadata["argv"][-1] == str(script) and "mpi4py" in p.metadata["versions"]
    ]
    assert len(real) == 2
    assert {p.role for p in real} == {"rank"}
    assert all(p.recording is not None and p.functions() is not None for p in real)
