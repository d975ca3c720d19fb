"""Forks children that use the driver's library themselves, while GPUs are being sampled."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from tests.native.recorder.jobs.recorded import DEVICE, is_sampled, wait_until

FORKS = 12
LOWEST_CLAIM = 200


def holds_claim() -> bool:
    """Whether this process has a socket where the recorder keeps its own."""
    for path in Path("/proc/self/fd").iterdir():
        if int(path.name) >= LOWEST_CLAIM and path.readlink().name.startswith("socket:"):
            return True
    return False


recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
wait_until(is_sampled(DEVICE, 1))
driver = ctypes.CDLL(os.environ["PERFSCOPE_NVML"])
handle, memory = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
driver.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
hung = 0
for _ in range(FORKS):
    child = os.fork()
    if child == 0:
        signal.alarm(2)  # its default action ends a child that hangs
        driver.nvmlDeviceGetMemoryInfo(handle, memory)
        os._exit(3 if holds_claim() else 0)
    _, status = os.waitpid(child, 0)
    hung += os.WIFSIGNALED(status)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        sys.exit("a child holds a claim")
    time.sleep(0.03)
sys.stdout.write(str(hung))
