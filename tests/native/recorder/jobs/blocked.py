"""A process that the kernel holds in uninterruptible sleep for a while, as a disk would."""

import ctypes
import os
import sys

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
assert ctypes.CDLL(sys.argv[1]).hold(800_000) == 0
