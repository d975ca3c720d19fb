"""Makes MPI calls, has its record file shortened to nothing by somebody else, and goes on."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

from mpi4py import MPI

calls = int(sys.argv[1])
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_base_path.restype = ctypes.c_char_p
for _ in range(calls):
    MPI.COMM_WORLD.Barrier()
time.sleep(0.3)  # the sampler has seen them
records = Path(recorder.ps_base_path().decode() + ".rec")
subprocess.run(["truncate", "--size", sys.argv[2], str(records)], check=True)
for _ in range(calls):
    MPI.COMM_WORLD.Barrier()
time.sleep(0.3)  # the sampler writes too
sys.stdout.write(f"{MPI.COMM_WORLD.allreduce(1)}\n")
sys.stdout.flush()
os._exit(7)
