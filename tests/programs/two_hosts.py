"""Ranks on several hosts that wait for each other by known times: `two_hosts.py DIRECTORY ROUNDS`.

Sleep stands for work. Each rank writes when it entered and left every barrier and message, on the
wall clock, which hosts emulated by time namespaces share while their monotonic clocks differ.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

WORK_S = 0.01
LATE_S = 0.015


def main() -> None:
    """Work of different length, a barrier; in the end a message in each direction."""
    directory, rounds = Path(sys.argv[1]), int(sys.argv[2])
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    barriers = []
    for turn in range(rounds):
        time.sleep(WORK_S + LATE_S * ((rank + turn) % size == 0))
        enter_ns = time.time_ns()
        comm.Barrier()
        barriers.append((enter_ns, time.time_ns()))
    buffer = np.zeros(1)
    if rank == 0:
        time.sleep(LATE_S)
        comm.Send(buffer, dest=size - 1, tag=1)
        comm.Recv(buffer, source=size - 1, tag=2)
    elif rank == size - 1:
        comm.Recv(buffer, source=0, tag=1)
        comm.Send(buffer, dest=0, tag=2)
    (directory / f"rank{rank}.json").write_text(json.dumps(barriers))


if __name__ == "__main__":
    main()
