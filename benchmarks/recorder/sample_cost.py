"""A process with some threads that wait, sampled for a while: `sample_cost.py THREADS SECONDS`."""

import ctypes
import os
import sys
import threading
import time

threads, seconds = int(sys.argv[1]), float(sys.argv[2])
recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
for _ in range(threads - 1):
    threading.Thread(target=time.sleep, args=(seconds,)).start()
recorder.ps_sampler_start()
time.sleep(seconds)
