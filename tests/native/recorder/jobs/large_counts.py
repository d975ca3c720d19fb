"""Large-count functions of a library that has none: converted, or refused when too large."""

import ctypes
import os

import numpy as np
from mpi4py import MPI

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
COUNT_ERROR = 2
world = ctypes.c_void_p(MPI._handleof(MPI.COMM_WORLD))
byte = ctypes.c_void_p(MPI._handleof(MPI.BYTE))
word, one = ctypes.c_uint64, (ctypes.c_int64 * 1)
send, receive = np.arange(3, dtype="u1"), np.zeros(3, dtype="u1")
out, into = ctypes.c_void_p(send.ctypes.data), ctypes.c_void_p(receive.ctypes.data)


def gather(count: int) -> int:
    """An allgatherv whose one rank contributes three bytes and says that it gets `count`."""
    counts, starts = one(count), one(0)
    arrays = ctypes.byref(counts), ctypes.byref(starts)
    return int(recorder.MPI_Allgatherv_c(out, word(3), byte, into, *arrays, byte, world))


assert recorder.MPI_Bcast_c(out, word(1 << 40), byte, word(0), world) == COUNT_ERROR
assert gather(1 << 40) == COUNT_ERROR
assert gather(3) == 0
assert receive.tolist() == [0, 1, 2]
