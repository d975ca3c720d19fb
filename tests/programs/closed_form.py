"""MPI programs whose efficiencies are known: `closed_form.py PROGRAM DIRECTORY` on each rank.

Sleep stands for work. Every rank writes when it worked, on the clock of the recording, to
`DIRECTORY/rank<n>.json`, so that a test can apply the formula to that.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mpi4py
import numpy as np

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False

from mpi4py import MPI  # noqa: E402, mpi4py reads its settings when MPI is imported


class WorkLog:
    """The work of one rank: all time from the end of MPI_Init to MPI_Finalize outside MPI calls."""

    def __init__(self, directory: str) -> None:
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
        self.start_ns = self._began_ns = time.monotonic_ns()
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self._directory = Path(directory)
        self._work: list[tuple[int, int]] = []

    @contextmanager
    def communication(self) -> Iterator[None]:
        """Around each MPI call."""
        self._work.append((self._began_ns, time.monotonic_ns()))
        yield
        self._began_ns = time.monotonic_ns()

    def finish(self) -> None:
        """Finalizes MPI and writes the log."""
        finish_ns = time.monotonic_ns()
        MPI.Finalize()
        self._work.append((self._began_ns, finish_ns))
        content = {"start_ns": self.start_ns, "finish_ns": finish_ns, "work_ns": self._work}
        (self._directory / f"rank{self.rank}.json").write_text(json.dumps(content))


def barriers(log: WorkLog) -> None:
    """Rank r works r + 1 units before each barrier."""
    for _ in range(2):
        time.sleep(0.6 / log.size * (log.rank + 1))
        with log.communication():
            log.comm.Barrier()


def reductions(log: WorkLog) -> None:
    """In each round another rank works longer; then a reduction and a broadcast."""
    ours, total = np.ones(1000), np.empty(1000)
    for turn in range(4):
        time.sleep(0.3 if turn % log.size == log.rank else 0.1)
        with log.communication():
            log.comm.Allreduce(ours, total)
    time.sleep(0.05 * (log.rank + 1))
    with log.communication():
        log.comm.Reduce(ours, total, root=0)
    with log.communication():
        log.comm.Bcast(total, root=0)


def ring(log: WorkLog) -> None:
    """A token goes round: every rank works, receives it, works again, passes it on."""
    token = np.zeros(10)
    time.sleep(0.05 * (1 + log.rank % 2))
    if log.rank:
        with log.communication():
            log.comm.Recv(token, source=log.rank - 1, tag=7)
    time.sleep(0.8 / log.size)
    with log.communication():
        log.comm.Send(token, dest=(log.rank + 1) % log.size, tag=7)
    if log.rank == 0:
        with log.communication():
            log.comm.Recv(token, source=log.size - 1, tag=7)


def sub_communicators(log: WorkLog) -> None:
    """Even and odd ranks meet among themselves, then all together."""
    with log.communication():
        half = log.comm.Split(log.rank % 2, log.rank)
    ours, total = np.ones(10), np.empty(10)
    for turn in range(3):
        time.sleep(0.1 + 0.1 * ((log.rank // 2 + turn) % 2) + 0.05 * (log.rank % 2))
        with log.communication():
            half.Allreduce(ours, total)
    with log.communication():
        log.comm.Barrier()


def blocking_receive(log: WorkLog) -> None:
    """Two ranks, 2 s: rank 0 works 1.5 s, rank 1 1.0 s, a barrier, a receive to the end.

    Nobody works in the last half second: another thread sleeps and then sends what both wait for.
    """

    def wake_everybody() -> None:
        time.sleep(0.5)
        for target in (0, 1):
            log.comm.Send(np.ones(1), dest=target, tag=3)

    waker = threading.Thread(target=wake_everybody)
    time.sleep(1.5 - 0.5 * log.rank)
    with log.communication():
        log.comm.Barrier()
    if log.rank == 0:
        waker.start()
    with log.communication():
        log.comm.Recv(np.zeros(1), source=0, tag=3)
    if log.rank == 0:
        waker.join()


PROGRAMS = {
    program.__name__: program
    for program in (barriers, reductions, ring, sub_communicators, blocking_receive)
}

if __name__ == "__main__":
    worklog = WorkLog(sys.argv[2])
    PROGRAMS[sys.argv[1]](worklog)
    worklog.finish()
