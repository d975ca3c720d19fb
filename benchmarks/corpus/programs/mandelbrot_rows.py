"""The Mandelbrot set in blocks of rows that are gathered at the end, as a demo of mpi4py."""

import numpy as np
from mpi4py import MPI

WIDTH, HEIGHT, MOST = 240, 160, 60


def mandelbrot(x, y, most):
    """How many turns a point stays small."""
    c = complex(x, y)
    z = c
    for turn in range(most):
        if abs(z) > 2:
            return turn
        z = z * z + c
    return most


comm = MPI.COMM_WORLD
rows = HEIGHT // comm.size + (HEIGHT % comm.size > comm.rank)
begin = comm.scan(rows) - rows
own = np.zeros([rows, WIDTH], dtype="i")
for row in range(rows):
    y = -1.0 + (begin + row) * 2.0 / HEIGHT
    for column in range(WIDTH):
        own[row, column] = mandelbrot(-2.0 + column * 3.0 / WIDTH, y, MOST)
counts = comm.gather(rows * WIDTH, root=0)
whole = np.zeros([HEIGHT, WIDTH], dtype="i") if comm.rank == 0 else None
comm.Gatherv(own, [whole, (counts, None)] if comm.rank == 0 else None, root=0)
if comm.rank == 0:
    print("sum", int(whole.sum()))
    print("steps", 0, flush=True)
