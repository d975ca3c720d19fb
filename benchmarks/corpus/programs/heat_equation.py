"""The heat equation on strips of a plate, with halos and a norm in each step."""

import numpy as np
from mpi4py import MPI

ROWS, COLUMNS, STEPS = 300, 600, 200

comm = MPI.COMM_WORLD
up = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
down = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
field = np.zeros((ROWS // comm.size + 2, COLUMNS))
if comm.rank == 0:
    field[0] = 100.0
for _step in range(STEPS):
    comm.Sendrecv(field[1], dest=up, recvbuf=field[-1], source=down)
    comm.Sendrecv(field[-2], dest=down, recvbuf=field[0 if comm.rank else -1], source=up)
    inner = field[1:-1, 1:-1]
    change = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])
    change -= inner
    inner += change
    norm = comm.allreduce(float((change**2).sum()))
if comm.rank == 0:
    print(f"change {norm:.6e}")
    print("steps", STEPS, flush=True)
