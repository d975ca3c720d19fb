"""Handles that a library gives again to something else, after an end that no watched call made."""

import re
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.conftest import Start
from tests.support import environments
from tests.support.environments import Mpi
from tests.support.recording import run_plain

ROUNDS = 5
CHANGING = re.compile(r"0x[0-9a-f]+|(?<=Abort\()\d+")
BOTH = (0, 1)


@pytest.mark.parametrize("way", ["callback", "pmpi"])
def test_a_communicator_freed_elsewhere_is_never_taken_for_the_next_one(
    each_abi: Mpi, start: Start, way: str
) -> None:
    job = start(each_abi, 2, "handles.py", way).succeeded()
    for recording in job.recordings:
        barriers = [recording.members(r) for r in recording.operations("MPI_Barrier")]
        assert barriers == ROUNDS * [BOTH, (recording.rank,), (recording.rank,)]
        used = {r.comm for r in recording.operations("MPI_Barrier")}
        assert len(used) == 3 * ROUNDS


def test_a_request_or_window_freed_in_a_callback_is_never_taken_for_the_next_one(
    each_abi: Mpi, start: Start
) -> None:
    job = start(each_abi, 2, "handles.py", "maps")
    assert job.exit_code == 0, job.stderr
    for recording in job.recordings:
        fences = [recording.members(r) for r in recording.operations("MPI_Win_fence")]
        assert fences == ROUNDS * [BOTH]
        starts = recording.operations("MPI_Start_send", "MPI_Start_recv")
        peer = 1 - recording.rank
        assert [(r.name, r.peer, r.tag, recording.members(r)) for r in starts] == ROUNDS * [
            ("MPI_Start_recv", peer, 6, BOTH)
        ]


def test_a_duplicate_that_completed_unseen_is_not_looked_for_in_memory_that_is_gone(
    each_abi: Mpi, start: Start
) -> None:
    job = start(each_abi, 2, "handles.py", "duplicates")
    assert job.exit_code == 0, job.stderr
    for recording in job.recordings:
        peers = {r.peer for r in recording.completions() if r.name == "MPI_Irecv"}
        assert peers == {1 - recording.rank}


@pytest.mark.parametrize("name", ["mpich", "intelmpi"])
def test_a_handle_that_is_none_meets_the_error_handler_of_its_own_call_alone(
    name: str, start: Start, tmp_path: Path
) -> None:
    mpi = environments.mpi(name)
    recorded = start(mpi, 1, "mistaken.py")
    command = mpi.python_command(1, running.JOBS / "mistaken.py")
    plain = run_plain(command, cwd=tmp_path, variables=mpi.variables)
    assert (recorded.exit_code, recorded.stdout) == (plain.returncode, plain.stdout)
    assert "send in an ended communicator: " in plain.stdout
    [recording] = recorded.recordings
    sends = recording.operations("MPI_Send")
    assert [send.sent for send in sends][:2] == [24, 40]


@pytest.mark.parametrize("name", ["mpich", "intelmpi"])
def test_errors_of_no_communicator_still_meet_the_handler_of_the_world(
    name: str, start: Start, tmp_path: Path
) -> None:
    mpi = environments.mpi(name)
    recorded = start(mpi, 1, "inherited_errors.py")
    command = mpi.python_command(1, running.JOBS / "inherited_errors.py")
    plain = run_plain(command, cwd=tmp_path, variables=mpi.variables)
    assert plain.stdout.endswith("heard 1\n")
    assert (recorded.exit_code, recorded.stdout) == (plain.returncode, plain.stdout)


def test_an_error_of_no_communicator_ends_the_job_with_the_same_words(
    mpich: Mpi, start: Start, tmp_path: Path
) -> None:
    recorded = start(mpich, 2, "fatal_error.py")
    command = mpich.python_command(2, running.JOBS / "fatal_error.py")
    plain = run_plain(command, cwd=tmp_path, variables=mpich.variables)
    told, again = (
        [
            CHANGING.sub("#", line)
            for line in (job.stdout + job.stderr).splitlines()
            if "rror" in line
        ]
        for job in (plain, recorded)
    )
    assert any("Open_port" in line for line in told)
    assert (recorded.exit_code, again) == (plain.returncode, told)
