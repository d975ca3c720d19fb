"""Reductions of 8 bytes over all ranks through mpi4py; rank 0 prints us per call."""

import sys
import time

import numpy as np
from mpi4py import MPI

calls = int(sys.argv[1])
world = MPI.COMM_WORLD
send, receive = np.ones(1), np.zeros(1)
for _ in range(calls // 10):
    world.Allreduce(send, receive)
before = time.perf_counter()
for _ in range(calls):
    world.Allreduce(send, receive)
if world.rank == 0:
    print((time.perf_counter() - before) / calls * 1e6)
