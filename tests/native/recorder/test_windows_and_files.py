"""Neighbors, windows, files and groups: what their records say, derived by hand from the job."""

from pathlib import Path

import pytest

from tests.native.recorder.conftest import Once
from tests.native.recorder.decode import PEER_NONE, PEER_PROC_NULL, Recording
from tests.support.environments import Mpi

SIZE, DOUBLE = 3, 8
EVERYBODY = (0, 1, 2)
Said = tuple[str, int, int, int]


def said(recording: Recording) -> list[Said]:
    """Name, peer and bytes of the calls between MPI_Init and MPI_Finalize."""
    found = [(r.name, r.peer, r.sent, r.received) for r in recording.operations()]
    return found[1:-1]


def neighbors(rank: int) -> list[Said]:
    left = (rank - 1) % SIZE
    gathered = (PEER_NONE, 3 * DOUBLE, 6 * DOUBLE)
    varied = (PEER_NONE, (rank + 1) * DOUBLE, (left + 1) * DOUBLE)
    wait = ("MPI_Wait", PEER_NONE, 0, 0)
    return [
        ("MPI_Cart_create", PEER_NONE, 0, 0),
        ("MPI_Neighbor_allgather", *gathered),
        ("MPI_Neighbor_alltoall", PEER_NONE, 4 * DOUBLE, 4 * DOUBLE),
        ("MPI_Ineighbor_allgather", *gathered),
        wait,
        ("MPI_Dist_graph_create_adjacent", PEER_NONE, 0, 0),
        ("MPI_Neighbor_alltoallv", *varied),
        ("MPI_Ineighbor_alltoallw", *varied),
        wait,
        ("MPI_Comm_free", PEER_NONE, 0, 0),
        ("MPI_Comm_free", PEER_NONE, 0, 0),
    ]


def one_sided(rank: int) -> list[Said]:
    right = (rank + 1) % SIZE
    return [
        ("MPI_Win_create", PEER_NONE, 0, 0),
        ("MPI_Win_fence", PEER_NONE, 0, 0),
        ("MPI_Put", right, 5 * DOUBLE, 0),
        ("MPI_Win_fence", PEER_NONE, 0, 0),
        ("MPI_Win_lock", right, 0, 0),
        ("MPI_Get", right, 0, 2 * DOUBLE),
        ("MPI_Win_flush", right, 0, 0),
        ("MPI_Accumulate", right, 3 * DOUBLE, 0),
        ("MPI_Win_unlock", right, 0, 0),
        ("MPI_Win_lock_all", PEER_NONE, 0, 0),
        ("MPI_Get_accumulate", right, 0, 2 * DOUBLE),
        ("MPI_Fetch_and_op", right, DOUBLE, DOUBLE),
        ("MPI_Rput", PEER_PROC_NULL, 0, 0),
        ("MPI_Wait", PEER_NONE, 0, 0),
        ("MPI_Win_unlock_all", PEER_NONE, 0, 0),
        ("MPI_Barrier", PEER_NONE, 0, 0),
        ("MPI_Win_free", PEER_NONE, 0, 0),
    ]


def files(rank: int) -> list[Said]:
    assert rank in EVERYBODY
    return [
        ("MPI_File_open", PEER_NONE, 0, 0),
        ("MPI_File_set_view", PEER_NONE, 0, 0),
        ("MPI_File_write_at_all", PEER_NONE, 8 * DOUBLE, 0),
        ("MPI_File_sync", PEER_NONE, 0, 0),
        ("MPI_File_read_at", PEER_NONE, 0, 4 * DOUBLE),
        ("MPI_File_iwrite_at", PEER_NONE, 2 * DOUBLE, 0),
        ("MPI_Wait", PEER_NONE, 0, 0),
        ("MPI_File_close", PEER_NONE, 0, 0),
    ]


def groups(rank: int) -> list[Said]:
    assert rank in EVERYBODY
    free = ("MPI_Comm_free", PEER_NONE, 0, 0)
    return [
        ("MPI_Comm_split", PEER_NONE, 0, 0),
        ("MPI_Intercomm_create", PEER_NONE, 0, 0),
        ("MPI_Intercomm_merge", PEER_NONE, 0, 0),
        ("MPI_Allreduce", PEER_NONE, DOUBLE, DOUBLE),
        free,
        free,
        free,
    ]


FAMILIES = {"neighbors": neighbors, "one_sided": one_sided, "files": files, "groups": groups}


@pytest.fixture
def recordings(each_abi: Mpi, once: Once, tmp_path: Path) -> list[Recording]:
    """Those of all families, one after the other."""
    return once(each_abi, SIZE, "windows_and_files.py", str(tmp_path / "file"), *FAMILIES)


def test_each_call_once_with_peer_and_bytes(recordings: list[Recording]) -> None:
    for rank, recording in enumerate(recordings):
        assert said(recording) == [call for one in FAMILIES.values() for call in one(rank)]
        for record in recording.operations("MPI_Put", "MPI_File_open", "MPI_Neighbor_alltoall"):
            assert sorted(recording.members(record)) == [*EVERYBODY]
        started = [
            r for r in recording.operations() if r.name.startswith(("MPI_I", "MPI_R", "MPI_File_i"))
        ]
        requests = [r.request for r in started if r.request]
        assert [r.request for r in recording.completions()] == requests


def test_a_merged_communicator_has_one_identity(recordings: list[Recording]) -> None:
    [identity] = {
        recording.communicators[record.comm].identity
        for recording in recordings
        for record in recording.operations("MPI_Allreduce")
    }
    assert identity not in {
        r.communicators[x.comm].identity for r in recordings for x in r.operations("MPI_Comm_split")
    }
