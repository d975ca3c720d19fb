"""Large-count functions of a library that has none: converted where they fit, refused where they do not."""

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

assert recorder.MPI_Bcast_c(out, word(1 << 40), byte, word(0), world) == COUNT_ERROR
too_many = ctypes.byref(one(1 << 40))
assert recorder.MPI_Allgatherv_c(out, word(3), byte, into, too_many, ctypes.byref(one(0)), byte, world) == COUNT_ERROR
assert recorder.MPI_Allgatherv_c(out, word(3), byte, into, ctypes.byref(one(3)), ctypes.byref(one(0)), byte, world) == 0
assert receive.tolist() == [0, 1, 2]
