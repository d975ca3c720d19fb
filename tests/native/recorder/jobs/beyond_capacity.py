"""Claims slots far beyond the last one, each with a name, between pages of the job's own."""

import ctypes
import mmap
import os
import sys
import time

BLOCKS, BLOCK_BYTES = 64, 1 << 18  # smaller ones than the kernel would align and so set apart
EVENTS = 100_000
PATTERN = b"\xa5"


def private_blocks() -> list[mmap.mmap]:
    """Memory that is lost when somebody tells the kernel that it is not needed."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    blocks = [mmap.mmap(-1, BLOCK_BYTES, flags=flags) for _ in range(BLOCKS)]
    for block in blocks:
        block.write(PATTERN * BLOCK_BYTES)
    return blocks


recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_phase_begin.restype = ctypes.c_uint64
recorder.ps_phase_end.argtypes = [ctypes.c_uint64]
above = private_blocks()
assert recorder.ps_open() == 0
below = private_blocks()
recorder.ps_sampler_start()
for number in range(EVENTS):
    name = b"name %d" % number
    recorder.ps_phase_end(recorder.ps_phase_begin(12, recorder.ps_name(name, len(name)), 0, 0))
time.sleep(0.3)  # the sampler lets go of written pages
intact = sum(block[:].count(PATTERN) == BLOCK_BYTES for block in above + below)
sys.stdout.write(f"{intact} of {2 * BLOCKS}\n")
