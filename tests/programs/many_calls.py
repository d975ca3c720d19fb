"""An MPI program in which most kinds of messages and collectives meet; rank 0 works longest."""

from __future__ import annotations

import time

import numpy as np
from mpi4py import MPI

STEPS = 12


def main() -> None:
    """Runs the steps."""
    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    half = world.Split(rank % 2, rank)
    right, left = (rank + 1) % size, (rank - 1) % size
    small, big, got = np.zeros(64), np.zeros(1 << 17), np.zeros(64)
    kept = [world.Send_init(small, right, 5), world.Recv_init(got, left, 5)]
    # of a grid that is no ring: there is nobody behind its edges
    after = right if rank < size - 1 else MPI.PROC_NULL
    before = left if rank else MPI.PROC_NULL
    edges = [world.Send_init(small, after, 8), world.Recv_init(got, before, 8)]
    for step in range(STEPS):
        time.sleep(0.012 if rank == 0 else 0.002)
        MPI.Prequest.Startall(kept)
        MPI.Prequest.Waitall(kept)
        MPI.Prequest.Startall(edges)
        MPI.Prequest.Waitall(edges)
        MPI.Request.Waitall([world.Irecv(got, after, 9), world.Isend(small, before, 9)])
        begun = world.Iallreduce(small, got)
        time.sleep(0.002)
        begun.Wait()
        to_root(world, small, got)
        world.Bcast(small, 0)
        half.Allreduce(small, got)
        world.Scan(small, got)
        world.Sendrecv(small, right, 8, got, left, 8)
        if rank % 2:
            world.Ssend(big, right, 9)
        else:
            world.Recv(big, left, 9)
        asked = world.Irecv(big, left, 11)
        given = world.Isend(big.copy(), right, 11)
        asked.Wait()
        given.Wait()
        if step % 4 == 3:
            world.Barrier()


def to_root(world: MPI.Intracomm, small: np.ndarray, got: np.ndarray) -> None:
    """Everybody sends to rank 0, which looks first who is there."""
    if world.rank:
        world.Send(small, 0, 7)
        return
    for _ in range(world.size - 1):
        status = MPI.Status()
        world.Probe(MPI.ANY_SOURCE, 7, status)
        world.Recv(got, status.source, 7)


main()
