"""Bind themselves to one CPU and work in equal steps for so many seconds."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from mpi4py import MPI

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
gradient, total = np.ones(1000), np.empty(1000)
begin = time.monotonic()
is_over = False
while not is_over:
    mine = 0.0
    for number in range(50_000):
        mine += number * 0.5
    gradient[0] = mine
    MPI.COMM_WORLD.Allreduce(gradient, total)
    is_over = MPI.COMM_WORLD.bcast(time.monotonic() - begin > float(sys.argv[1]), root=0)
