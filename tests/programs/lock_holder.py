"""Steps of small numpy calls on two ranks; on rank 1 another thread runs Python code meanwhile."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
from mpi4py import MPI

RANK = MPI.COMM_WORLD.Get_rank()
over = threading.Event()


def count_words(words: list[str]) -> None:
    """Python code without an end."""
    while not over.is_set():
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1


def multiply(matrix: np.ndarray) -> None:
    """Without the interpreter lock, and without an end."""
    while not over.is_set():
        matrix @ matrix


if RANK == 1 and sys.argv[1] == "python":
    threading.Thread(target=count_words, args=(["a", "b"] * 500,), name="word counter").start()
if RANK == 1 and sys.argv[1] == "numpy":
    threading.Thread(target=multiply, args=(np.ones((1000, 1000)),), name="multiplier").start()

matrix, gradient, total = np.ones((60, 60)), np.zeros(100), np.zeros(100)
begin, is_over = time.monotonic(), False
while not is_over:
    for _ in range(100):
        gradient += (matrix @ matrix)[0, 0]
    MPI.COMM_WORLD.Allreduce(gradient, total)
    is_over = MPI.COMM_WORLD.bcast(time.monotonic() - begin > float(sys.argv[2]), root=0)
over.set()
