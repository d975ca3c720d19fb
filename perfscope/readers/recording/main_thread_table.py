"""Samples of the main thread, its CPU time and waiting for a CPU, and of what its CPUs did."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.readers.recording.layout import NO_ID
from perfscope.trace.main_thread import CPU_SAMPLE_DTYPE, MAIN_SAMPLE_DTYPE
from perfscope.trace.model import Table


def main_samples(raw: Table, horovod_threads: npt.NDArray[np.uint32]) -> Table:
    """What the main thread used and waited for, sorted by time; counters that fall are damage.

    Recorders used to follow the thread that initialized MPI, also where that was Horovod's: such
    samples tell nothing of the program's work.
    """
    raw = raw[np.argsort(raw["t0_ns"], kind="stable")]
    is_followed = np.isin(raw["tid"], horovod_threads)
    raw = raw[:0] if is_followed[-1:].any() else raw[~is_followed]
    rows = np.zeros(len(raw), MAIN_SAMPLE_DTYPE)
    rows["t"] = raw["t0_ns"]
    rows["cpu_ns"], rows["queue_delay_ns"] = _joined(raw, "sent"), _joined(raw, "received")
    rows["kernel_ns"] = raw["request"]
    # the counter has 32 bits: what grew between two samples is known modulo 2^32
    rows["minor_faults"][1:] = np.cumsum(np.diff(raw["comm"]).astype(np.int64))
    throttled = raw["seq"].astype(np.int64)
    rows["throttled_ns"] = np.where(throttled == NO_ID, -1, throttled * 1_000_000)
    return _growing(rows, "cpu_ns", "queue_delay_ns")


def _joined(raw: Table, column: str) -> Ints:
    """A counter that goes on where another thread becomes the main one, which has its own."""
    values = raw[column].astype(np.int64)
    grown = np.diff(values, prepend=0)
    grown[1:][raw["tid"][1:] != raw["tid"][:-1]] = 0
    joined: Ints = np.cumsum(grown)
    return joined


def cpu_samples(raw: Table) -> Table:
    """What the CPUs of a process did, sorted by time, from when these were seen last to change."""
    rows = np.zeros(len(raw), CPU_SAMPLE_DTYPE)
    raw = raw[np.argsort(raw["t0_ns"], kind="stable")]
    rows["t"], rows["busy_ns"], rows["stolen_ns"] = raw["t0_ns"], raw["sent"], raw["received"]
    rows["used_ns"], rows["cpus"], rows["changes"] = raw["request"], raw["peer"], raw["comm"]
    rows = rows[rows["cpus"] > 0]
    return _growing(rows[rows["changes"] == rows["changes"][-1:]], "busy_ns", "stolen_ns")


def _growing(rows: Table, *columns: str) -> Table:
    sound = np.ones(len(rows), np.bool_)
    for column in columns:
        values = rows[column]
        sound &= np.minimum.accumulate(values[::-1])[::-1] == values
    return rows[sound]
