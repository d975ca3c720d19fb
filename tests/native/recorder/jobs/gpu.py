"""A process that uses a GPU, as a driver's process list would show it, and then sleeps."""

import ctypes
import os
import sys
import time
from pathlib import Path

rank, seconds = int(sys.argv[1]), float(sys.argv[2])
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(rank, int(sys.argv[3]))
if "NVML_MOCK_USERS" in os.environ:
    with Path(os.environ["NVML_MOCK_USERS"]).open("a") as users:
        users.write(f"{os.getpid()} {rank}\n")
if "JOB_LOADS" in os.environ:
    ctypes.CDLL(os.environ["JOB_LOADS"])
recorder.ps_sampler_start()
time.sleep(seconds)
sys.exit(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
