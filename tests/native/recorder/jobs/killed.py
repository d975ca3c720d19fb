"""Rank 1 is killed in the middle of a run, while it waits for rank 0; says nothing."""

import os
import signal
import threading
import time

import numpy as np
from mpi4py import MPI

CALLS = 500
world = MPI.COMM_WORLD


def kill_soon() -> None:
    """Lets the main thread get into its receive."""
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


for _ in range(CALLS):
    world.Allreduce(np.zeros(1), np.zeros(1))
if world.rank == 1:
    threading.Thread(target=kill_soon, daemon=True).start()
    world.Recv(np.zeros(1), source=0, tag=5)
time.sleep(60)
