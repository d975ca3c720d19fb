"""Forks a child that goes on, and children that run programs, one of which is killed."""

import ctypes
import os
import subprocess
import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_base_path.restype = ctypes.c_char_p
world.Barrier()
child = os.fork()
if child == 0:
    quiet = recorder.ps_is_recording() == 0 and recorder.ps_open() == 1
    quiet = quiet and recorder.ps_open_forked() == 1
    quiet = quiet and recorder.ps_base_path() == b""
    # Recorded calls of the child would appear in the parent's file.
    MPI.COMM_SELF.Allreduce(np.zeros(77), np.zeros(77))
    os._exit(5 if quiet else 6)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 5, status
assert recorder.ps_is_recording() == 1
program = "import os; os.kill(os.getpid(), 9)"
assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
world.Barrier()
