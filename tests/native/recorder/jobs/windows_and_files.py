"""Persistent, neighborhood and one-sided communication, MPI-IO: arguments FILE FAMILY...

Counts are of 8-byte numbers; the test derives the bytes by hand.
"""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size
out, into = np.arange(64, dtype=float), np.zeros(64)


def neighbors() -> None:
    ring = world.Create_cart([size], periods=[True])
    ring.Neighbor_allgather(out[:3], into[:6])
    ring.Neighbor_alltoall(out[:4], into[:4])
    ring.Ineighbor_allgather(out[:3], into[:6]).Wait()
    graph = world.Create_dist_graph_adjacent([left], [right])
    counts = ([rank + 1], [0])
    graph.Neighbor_alltoallv([out, counts, MPI.DOUBLE], [into, ([left + 1], [0]), MPI.DOUBLE])
    graph.Ineighbor_alltoallw(
        [out, counts, [MPI.DOUBLE]], [into, ([left + 1], [0]), [MPI.DOUBLE]]
    ).Wait()
    graph.Free()
    ring.Free()


def one_sided() -> None:
    memory = np.zeros(64)
    window = MPI.Win.Create(memory, disp_unit=8, comm=world)
    window.Fence()
    window.Put(out[:5], right)
    window.Fence()
    window.Lock(right)
    window.Get(into[:2], right)
    window.Flush(right)
    window.Accumulate(out[:3], right, op=MPI.SUM)
    window.Unlock(right)
    window.Lock_all()
    window.Get_accumulate(out[:2], into[:2], right, op=MPI.NO_OP)
    window.Fetch_and_op(out[:1], into[:1], right, op=MPI.SUM)
    window.Rput(out[:1], MPI.PROC_NULL).Wait()
    window.Unlock_all()
    world.Barrier()
    window.Free()


def files() -> None:
    file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(0, MPI.DOUBLE, MPI.DOUBLE)
    file.Write_at_all(rank * 8, out[:8])
    file.Sync()
    file.Read_at(0, into[:4])
    file.Iwrite_at(rank * 8, out[:2]).Wait()
    file.Close()


def groups() -> None:
    half = world.Split(rank == 0)
    between = MPI.Intracomm(half).Create_intercomm(0, world, 1 if rank == 0 else 0, tag=5)
    merged = between.Merge(rank == 0)
    merged.Allreduce(out[:1], into[:1])
    for comm in (merged, between, half):
        comm.Free()


families = {"neighbors": neighbors, "one_sided": one_sided, "files": files, "groups": groups}
for family in sys.argv[2:]:
    families[family]()
