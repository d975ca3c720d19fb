"""Steps of short OpenMP regions and an allreduce; prints the seconds of its loop.

Usage: openmp_trainer.py LIBRARY STEPS
"""

import ctypes
import sys
import time

import numpy as np
from mpi4py import MPI

import perfscope

LENGTH, REGIONS = 20_000, 400

library = ctypes.CDLL(sys.argv[1])
library.steps.restype = ctypes.c_double
library.steps.argtypes = (ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
values, total = np.ones(LENGTH), np.zeros(1)
MPI.COMM_WORLD.Barrier()
begin = time.perf_counter()
for number in range(int(sys.argv[2])):
    with perfscope.step(number=number):
        part = np.array([library.steps(values.ctypes.data, LENGTH, REGIONS)])
        MPI.COMM_WORLD.Allreduce(part, total)
if MPI.COMM_WORLD.rank == 0:
    print(time.perf_counter() - begin)
