"""Two threads of each rank call MPI at the same time, each on a communicator of its own."""

import sys
import threading

import numpy as np
from mpi4py import MPI

CALLS = int(sys.argv[1])
world = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE


def work(comm: MPI.Intracomm) -> None:
    """Allreduces and a ring of nonblocking messages."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(CALLS):
        comm.Allreduce(np.zeros(2), np.zeros(2))
        pair = [comm.Irecv(np.zeros(3), left, tag=1), comm.Isend(np.zeros(3), right, tag=1)]
        MPI.Request.Waitall(pair)


threads = [threading.Thread(target=work, args=(world.Dup(),)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
