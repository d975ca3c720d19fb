"""Claims slots far beyond the last one, each with a name, between pages of the job's own."""

import ctypes
import mmap
import os
import sys
import time

PAGES_BYTES = 16 << 20
EVENTS = 100_000
PATTERN = b"\xa5"

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_phase_begin.restype = ctypes.c_uint64
recorder.ps_phase_end.argtypes = [ctypes.c_uint64]
above = mmap.mmap(-1, PAGES_BYTES)  # the kernel lays the next mapping below this one
assert recorder.ps_open() == 0
below = mmap.mmap(-1, PAGES_BYTES)
for pages in (above, below):
    pages.write(PATTERN * PAGES_BYTES)
recorder.ps_sampler_start()
for number in range(EVENTS):
    name = b"name %d" % number
    recorder.ps_phase_end(recorder.ps_phase_begin(12, recorder.ps_name(name, len(name)), 0, 0))
time.sleep(0.3)  # the sampler lets go of written pages
intact = [pages[:].count(PATTERN) == PAGES_BYTES for pages in (above, below)]
sys.stdout.write(f"{intact}\n")
