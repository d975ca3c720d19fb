"""Communicators, windows and requests that end where no call of the program's own ends them.

The library gives their handles to the next ones at once: in every round a communicator of both
ranks makes a barrier and ends, and two between this rank and the other are made and used.
"""

import ctypes
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

ROUNDS = 5
WAY = sys.argv[1]
world = MPI.COMM_WORLD
rank = world.Get_rank()
alone = MPI.Intracomm(world.Split(rank))


def free_in_callback(kept: MPI.Comm) -> None:
    """The deletion of an attribute of another communicator frees it, as mpi4py does."""
    keyval = MPI.Comm.Create_keyval(delete_fn=lambda _comm, _key, value: value.Free())
    holder = MPI.COMM_SELF.Dup()
    holder.Set_attr(keyval, kept)
    holder.Free()
    MPI.Comm.Free_keyval(keyval)


def library() -> ctypes.CDLL:
    """The MPI library of this process."""
    maps = Path("/proc/self/maps").read_text()
    return ctypes.CDLL(re.findall(r"\S*/libmpi(?:_abi)?\.so\S*", maps)[0])


def free_through_pmpi(kept: MPI.Comm) -> None:
    """A Fortran binding or a tool frees it, which calls the profiling interface."""
    free = library().PMPI_Comm_free
    free.argtypes = [ctypes.c_void_p]
    assert free(MPI._addressof(kept)) == 0


def end_in_callback(request: MPI.Prequest, window: MPI.Win) -> None:
    """The deletion of an attribute frees a persistent request and a window."""

    def delete(*_unused: object) -> None:
        request.Free()
        window.Free()

    keyval = MPI.Comm.Create_keyval(delete_fn=delete)
    holder = world.Dup()
    holder.Set_attr(keyval, 1)
    holder.Free()
    MPI.Comm.Free_keyval(keyval)


def communicators(free: Callable[[MPI.Comm], None]) -> None:
    """Frees one of both ranks, makes others, uses them in ways that need their size."""
    root = MPI.ROOT if rank == 0 else 0
    for _ in range(ROUNDS):
        kept = world.Dup()
        kept.Barrier()
        free(kept)
        first = alone.Create_intercomm(0, world, 1 - rank)
        between = alone.Create_intercomm(0, world, 1 - rank)
        first.Barrier()
        between.Barrier()
        twice = between.Dup()
        assert twice.scatter([7] if rank == 0 else None, root) == (None if rank == 0 else 7)
        assert twice.alltoall([rank]) == [1 - rank]
        for ended in (twice, between, first):
            ended.Free()


def requests_and_windows() -> None:
    """A persistent send and a window end in a callback; others of another kind follow."""
    for _ in range(ROUNDS):
        data = np.zeros(10)
        end_in_callback(alone.Send_init(data, 0, 5), MPI.Win.Create(data, comm=alone))
        window = MPI.Win.Create(data, comm=world)
        window.Fence()
        window.Free()
        receive = world.Recv_init(data, 1 - rank, 6)
        receive.Start()
        world.Send(data[:4], 1 - rank, 6)
        receive.Wait()
        receive.Free()


def duplicates() -> None:
    """A duplicate completes through PMPI; when its request is made again, its memory is gone."""
    system = preloaded = ctypes.CDLL(None)
    system.mmap.restype = ctypes.c_void_p
    wait = library().PMPI_Wait
    world_handle, data = ctypes.c_void_p(MPI._handleof(world)), np.zeros(10)
    status = ctypes.create_string_buffer(64)
    for _ in range(ROUNDS):
        page = ctypes.c_void_p(system.mmap(None, 4096, 3, 0x22, -1, ctypes.c_long(0)))
        request = ctypes.c_void_p(0)
        assert preloaded.MPI_Comm_idup(world_handle, page, ctypes.byref(request)) == 0
        assert wait(ctypes.byref(request), status) == 0
        system.munmap(page, ctypes.c_size_t(4096))
        requests = [world.Irecv(data[i : i + 1], 1 - rank, 8) for i in range(9)]
        for i in range(9):
            world.Send(data[i : i + 1], 1 - rank, 8)
        MPI.Request.Waitall(requests)


if WAY == "maps":
    requests_and_windows()
elif WAY == "duplicates":
    duplicates()
else:
    communicators(free_in_callback if WAY == "callback" else free_through_pmpi)
