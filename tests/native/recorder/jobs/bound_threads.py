"""A main thread that binds itself to one CPU and a thread that works on another, as OpenMP does."""

import ctypes
import os
import threading
import time
import zlib

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
cpus = sorted(os.sched_getaffinity(0))
started = threading.Event()


def work(cpu: int, seconds: float) -> None:
    """Uses one CPU, without the interpreter's lock."""
    os.sched_setaffinity(0, [cpu])
    started.wait()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        zlib.compress(bytes(1 << 20))


other = threading.Thread(target=work, args=(cpus[-1], 2.3))
other.start()
os.sched_setaffinity(0, [cpus[0]])
started.set()
work(cpus[0], 1.0)
other.join()
