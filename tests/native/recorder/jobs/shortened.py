"""Makes MPI calls, has its record file shortened to nothing by somebody else, and goes on.

The third word says what blocks SIGBUS by then: nothing ("never"), the thread that calls MPI
("now"), or all threads because the process was started so ("always").
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

if sys.argv[3] == "always" and signal.SIGBUS not in signal.pthread_sigmask(signal.SIG_BLOCK, []):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.execv(sys.executable, [sys.executable, *sys.argv])

from mpi4py import MPI

calls = int(sys.argv[1])
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_base_path.restype = ctypes.c_char_p
for _ in range(calls):
    MPI.COMM_WORLD.Barrier()
time.sleep(0.3)  # the sampler has seen them
records = Path(recorder.ps_base_path().decode() + ".rec")
if sys.argv[3] == "now":
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
subprocess.run(["truncate", "--size", sys.argv[2], str(records)], check=True)
for _ in range(calls):
    MPI.COMM_WORLD.Barrier()
time.sleep(0.3)  # the sampler writes too
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == blocked
assert (signal.SIGBUS in blocked) == (sys.argv[3] != "never")
sys.stdout.write(f"{MPI.COMM_WORLD.allreduce(1)}\n")
sys.stdout.flush()
os._exit(7)
