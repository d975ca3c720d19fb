"""An MPI job of two ranks with every kind of exchange: `exchanging.py`, marked with steps.

A step sends a message to the other rank and back, blocking and not, adds up, and scatters; after
each epoch rank 0 alone evaluates.
"""

from __future__ import annotations

import time

import numpy as np
from mpi4py import MPI

import perfscope

EPOCHS, STEPS = 2, 5
TAG = 7


def exchange(world: MPI.Comm, number: int) -> None:
    """One step."""
    other = 1 - world.rank
    ours, theirs = np.full(1000, float(number)), np.empty(1000)
    requests = [world.Irecv(theirs, other, TAG), world.Isend(ours, other, TAG)]
    with perfscope.phase("forward"):
        time.sleep(0.002 * (1 + world.rank))
    MPI.Request.Waitall(requests)
    if world.rank == 0:
        world.Send(ours[:10], other, TAG + 1)
    else:
        world.Recv(theirs[:10], other, TAG + 1)
    world.Sendrecv(ours, other, TAG, theirs, other, TAG)
    world.Allreduce(ours, theirs)
    request = world.Iallreduce(ours, theirs)
    request.Wait()
    world.Bcast(theirs, root=1)


def main() -> None:
    """Trains."""
    world = MPI.COMM_WORLD
    half = world.Split(world.rank)
    for epoch in range(EPOCHS):
        for number in range(STEPS):
            with perfscope.step(samples=32, epoch=epoch):
                exchange(world, number)
            perfscope.metric("loss", 1.0 / (1 + number))
        if world.rank == 0:
            with perfscope.phase("evaluate", epoch=epoch):
                time.sleep(0.02)
        half.Barrier()


main()
