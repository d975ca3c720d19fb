"""Processes that train in another thread than their first one, which waits for it."""

import numpy as np

from perfscope.trace.model import Rank


def join_first_thread(rank: Rank) -> None:
    """Has the thread that trains go on with what the first thread did until then.

    The thread of the program is then one sequence from start to end; what the first thread does
    later, mostly waiting, is that of another thread. Where MPI was initialized, its thread is the
    one, whatever others do.
    """
    if rank.main_tid == rank.pid or rank.init_exit_ns is not None:
        return
    told = (rank.operations, rank.phases)
    begins = np.concatenate([table["t0"][table["tid"] == rank.main_tid] for table in told])
    if not len(begins):
        return
    moment = begins.min()
    for table, column in ((rank.operations, "t0"), (rank.phases, "t0"), (rank.stacks, "t")):
        table["tid"][(table["tid"] == rank.pid) & (table[column] < moment)] = rank.main_tid
