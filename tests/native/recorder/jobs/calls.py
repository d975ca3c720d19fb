"""Makes recorded calls: `calls.py REDUCTIONS POLLS [BYTES]`; BYTES limits the size of files."""

import ctypes
import os
import resource
import signal
import sys
import time

import numpy as np
from mpi4py import MPI

calls, polls = int(sys.argv[1]), int(sys.argv[2])
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_metric.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int32, ctypes.c_double]
if len(sys.argv) > 3:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, other programs die of it
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
send, receive = np.zeros(1), np.zeros(1)
for _ in range(calls):
    MPI.COMM_SELF.Allreduce(send, receive)
request = MPI.COMM_SELF.Irecv(receive, source=0, tag=1)
for _ in range(polls):
    request.Test()
MPI.COMM_SELF.Isend(send, dest=0, tag=1).Wait()
request.Wait()
time.sleep(0.4)  # the sampler goes on after the last call
recorder.ps_metric(recorder.ps_name(b"after", 5), 1, -1, 2.5)
