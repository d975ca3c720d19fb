"""Steps without end of a job that lasts a day, in minutes: `long_day.py STEPS|forever [SPLIT]`.

Each step has a reduction, a message around the ring and, every fourth one, a reduction in halves;
every hundredth is an evaluation longer. The program counts what it calls, by itself, in
`counted-RANK.json`. With `unmarked` it marks no steps.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import perfscope

EVERY_HALF, EVERY_EVALUATION = 4, 100
NUMBERS = 64


def work(seconds: float) -> None:
    """Keeps the core busy for a time."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def main(steps: int, *, is_marked: bool) -> dict[str, int]:
    """Runs the steps; calls that were made, by what they were for."""
    world = MPI.COMM_WORLD
    half = world.Split(world.rank % 2)
    values, result = np.ones(NUMBERS), np.empty(NUMBERS)
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    calls = {"reductions": 0, "messages": 0, "halves": 0, "evaluations": 0}
    counter = os.open(f"count-{world.rank}", os.O_WRONLY | os.O_CREAT)
    os.pwrite(counter, bytes(8), 0)
    Path(f"pid-{world.rank}").write_text(str(os.getpid()), encoding="ascii")
    step = 0
    while step != steps:
        if is_marked:
            perfscope.step(samples=8)
        work(20e-6 * (1 + (world.rank == step % world.size)))
        world.Sendrecv(values, right, 1, result, left, 1)
        calls["messages"] += 1
        world.Allreduce(values, result)
        calls["reductions"] += 1
        if step % EVERY_HALF == 0:
            half.Allreduce(values[:8], result[:8])
            calls["halves"] += 1
        if step % EVERY_EVALUATION == 0:
            with perfscope.phase("evaluate"):
                work(100e-6)
                world.Reduce(values, result)
            calls["evaluations"] += 1
        step += 1
        os.pwrite(counter, calls["reductions"].to_bytes(8, "little"), 0)
    return calls


if __name__ == "__main__":
    wanted = -1 if sys.argv[1] == "forever" else int(sys.argv[1])
    counted = main(wanted, is_marked="unmarked" not in sys.argv)
    path = Path(f"counted-{MPI.COMM_WORLD.rank}.json")
    path.write_text(json.dumps(counted), encoding="ascii")
