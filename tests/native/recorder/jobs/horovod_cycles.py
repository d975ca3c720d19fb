"""The control traffic of Horovod's thread, cycle by cycle: `horovod_cycles.py LIBRARY`.

The library stands in for Horovod's own: it lies at horovod/.../mpi_lib.so and makes the calls.
"""

import ctypes
import os
import sys
import threading
import time

import mpi4py
import numpy as np

mpi4py.rc.initialize = False  # Horovod does so in its own thread
from mpi4py import MPI  # noqa: E402 - what is set above is read by the import

IDLE, UNCACHED = 0b111, 0b101  # the three status bits are inverted
FIRST, SECOND = 1 << 3, 1 << 4
world = MPI.COMM_WORLD
agree = ctypes.CDLL(sys.argv[1]).agree
agree.argtypes = [ctypes.c_void_p, *[ctypes.c_uint64] * 5]
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
bits = np.zeros(2, np.int64)


def word(handle: object) -> int:
    """An MPI handle as the 64-bit word that the library passes on."""
    return int(MPI._handleof(handle))


def cycle(own: int, other: int) -> int:
    """One cycle of control; `own` are the bits of rank 0, `other` those of rank 1."""
    bits[:] = (own, other)[world.rank], 0
    in_place = int(ctypes.c_ulong(int(MPI.IN_PLACE)).value)
    arguments = [2, word(MPI.LONG_LONG), word(MPI.BAND), word(world), in_place]
    assert agree(bits.ctypes.data, *arguments) == 0
    return int(bits[0])


def work() -> None:
    """Idle, two tensors ready on rank 0 and later on rank 1, their reduction, a new tensor."""
    MPI.Init_thread()
    for _ in range(10):
        assert cycle(IDLE, IDLE) == IDLE
    both = IDLE | FIRST | SECOND
    assert cycle(both, IDLE) == IDLE
    assert cycle(both, IDLE) == IDLE
    assert cycle(both, both) == both
    world.Allreduce(np.ones(100, np.float32), np.ones(100, np.float32))
    assert cycle(UNCACHED, IDLE) == UNCACHED
    # the operation alone is no sign of Horovod
    world.Allreduce(np.ones(1, np.int64), np.ones(1, np.int64), MPI.BAND)
    time.sleep(0.5)  # some samples
    MPI.Finalize()


thread = threading.Thread(target=work)
thread.start()
thread.join()
