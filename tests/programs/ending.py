"""An MPI job that ends as told: `ending.py ENDING`, on each rank.

Every rank does STEPS allreduces. Then rank 1, or every rank for `everybody`, does what was asked,
and the others wait for it in one more allreduce.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

STEPS = 20


def train(world: MPI.Comm) -> None:
    """The work that must be found in every recording."""
    ours, total = np.ones(100), np.empty(100)
    for step in range(STEPS):
        time.sleep(0.01 * (1 + (step + world.rank) % 2))
        world.Allreduce(ours, total)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def abort() -> None:
    MPI.COMM_WORLD.Abort(7)


def fail() -> None:
    raise ValueError("no such batch")


def leave() -> None:
    os._exit(5)


def wait() -> None:
    """Leaves the pid, then waits for a message that never comes, where Ctrl-C can reach it."""
    world = MPI.COMM_WORLD
    Path(f"pid-{world.rank}").write_text(str(os.getpid()))
    while not world.iprobe(source=(world.rank + 1) % world.size):
        time.sleep(0.02)


def fork() -> None:
    """Children that work and exit on their own, one of them badly."""
    for code in (0, 3):
        child = os.fork()
        if child == 0:
            time.sleep(0.05)
            os._exit(code)
        os.waitpid(child, 0)


ENDINGS: dict[str, Callable[[], None]] = {
    function.__name__: function for function in (kill, abort, fail, leave, wait, fork)
}

if __name__ == "__main__":
    train(MPI.COMM_WORLD)
    Path(f"trained-{MPI.COMM_WORLD.rank}").touch()
    ending, *whom = sys.argv[1:]
    if ending != "well" and (whom or MPI.COMM_WORLD.rank == 1):
        while len(list(Path().glob("trained-*"))) < MPI.COMM_WORLD.size:
            time.sleep(0.02)
        time.sleep(0.2)  # until the others wait in the last call
        ENDINGS[ending]()
    MPI.COMM_WORLD.Allreduce(np.ones(100), np.empty(100))
