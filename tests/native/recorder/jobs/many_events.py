"""Writes 25 MB of records while the sampler looks at the memory of the process."""

import ctypes
import os
import time

EVENTS = 400_000

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_step.argtypes = [ctypes.c_uint32, ctypes.c_int32, *[ctypes.c_uint64] * 4]
recorder.ps_step.restype = None
assert recorder.ps_open() == 0
recorder.ps_sampler_start()
time.sleep(0.3)
for number in range(EVENTS):
    recorder.ps_step(number, 0, 1, 1, 1, 2)
time.sleep(0.5)
