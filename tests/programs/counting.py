"""Makes MPI calls without end, and counts in a file those that returned; may end itself, as told.

`counting.py NOTHING|WAY CALLS`: rank 1 ends in this way when so many calls have returned. For
`memory` it enters the control group that COUNTING_GROUP names and takes memory until it is ended.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from mpi4py import MPI

WAYS = ("abort", "MPI_Abort", "_exit", "exec", "raise", "segv", "memory")
COUNT_BYTES = 8


def end(way: str) -> None:
    """Ends this process."""
    if way == "abort":
        os.abort()
    elif way == "MPI_Abort":
        MPI.COMM_WORLD.Abort(3)
    elif way == "_exit":
        os._exit(4)
    elif way == "exec":
        os.execv("/bin/false", ["false"])
    elif way == "raise":
        raise RuntimeError("as told")
    elif way == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif way == "memory":
        group = Path(os.environ["COUNTING_GROUP"])
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        taken = []
        while True:
            taken.append(b"x" * (1 << 20))


if __name__ == "__main__":
    way, calls = sys.argv[1], int(sys.argv[2])
    world = MPI.COMM_WORLD
    counter = os.open(f"count-{world.rank}", os.O_WRONLY | os.O_CREAT)
    os.pwrite(counter, bytes(COUNT_BYTES), 0)
    Path(f"pid-{world.rank}").write_text(str(os.getpid()), encoding="ascii")
    done = 0
    while True:
        world.Barrier()
        done += 1
        os.pwrite(counter, done.to_bytes(COUNT_BYTES, "little"), 0)
        if done == calls and world.rank == 1:
            end(way)
