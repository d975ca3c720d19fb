"""A main thread that binds itself to one CPU and a thread that works on another, as OpenMP does."""

import ctypes
import os
import threading
import zlib

from tests.native.recorder.jobs.recorded import so_far

WORK_NS = 300_000_000  # of which it is known that a thread works

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
cpus = sorted(os.sched_getaffinity(0))
is_bound = threading.Event()


def use_cpu() -> None:
    """Uses the CPU for a moment, without the interpreter's lock."""
    zlib.compress(bytes(1 << 20))


def work() -> None:
    """Works on one CPU for as long as there is the process."""
    os.sched_setaffinity(0, [cpus[-1]])
    is_bound.wait()
    while True:
        use_cpu()


def have_worked() -> bool:
    """Whether both threads were seen at work, and where both may run."""
    return any(
        sum(one.cpu_ns > WORK_NS for one in recording.threads) >= 2
        and recording.header["cpus_allowed"] == 2
        for recording in so_far(os.getpid())
    )


threading.Thread(target=work, daemon=True).start()
os.sched_setaffinity(0, [cpus[0]])
is_bound.set()
while not have_worked():
    use_cpu()
