"""Steps on two ranks over large arrays: fresh ones in each step, or the same ones again."""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

is_fresh = sys.argv[1] == "fresh"
features, weights = np.ones(4_000_000), np.ones(4_000_000)
kept, total = np.empty(4_000_000), np.zeros(1)
begin, is_over = time.monotonic(), False
while not is_over:
    for _ in range(3):
        scaled = np.multiply(features, weights, out=None if is_fresh else kept)
        scaled = np.add(scaled, weights, out=None if is_fresh else kept)
    MPI.COMM_WORLD.Allreduce(scaled[:1].copy(), total)
    is_over = MPI.COMM_WORLD.bcast(time.monotonic() - begin > float(sys.argv[2]), root=0)
