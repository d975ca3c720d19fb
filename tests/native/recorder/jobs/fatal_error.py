"""Moves predefined types, merges two groups, then makes ports until that ends the job."""

import array

import mpi4py

mpi4py.rc.errors = "default"

from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
world.Bcast([array.array("d", [1.0]), MPI.DOUBLE])
world.Bcast([bytearray(4), MPI.CHAR])
own = world.Split(world.rank)
assert isinstance(own, MPI.Intracomm)
both = own.Create_intercomm(0, world, 1 - world.rank)
both.Merge(world.rank == 1).Barrier()
if world.rank == 0:
    while True:
        MPI.Open_port()
world.Barrier()
