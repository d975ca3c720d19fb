"""Processes that train in another thread than their first one, which waits for it."""

import numpy as np

from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.record_tables import Tables


def join_first_thread(process: ProcessFile, tables: Tables) -> None:
    """Has the thread that trains go on with what the first thread did until then.

    The thread of the program is then one sequence from start to end; what the first thread does
    later, mostly waiting, is that of another thread. Where MPI was initialized, its thread is the
    one, whatever others do.
    """
    if process.main_tid == process.pid or process.init_exit_ns is not None:
        return
    told = (tables.operations, tables.phases)
    begins = [table["t0"][table["tid"] == process.main_tid] for table in told]
    if not any(len(times) for times in begins):
        return
    moment = np.concatenate(begins).min()
    for table, column in ((tables.operations, "t0"), (tables.phases, "t0"), (tables.stacks, "t")):
        table["tid"][(table["tid"] == process.pid) & (table[column] < moment)] = process.main_tid
