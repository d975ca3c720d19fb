"""One process with a named thread that computes and 40 MB that stay: what the sampler must see."""

import ctypes
import os
import threading
import time

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
recorder.ps_sampler_start()


def compute() -> None:
    """Keeps one core busy, for long enough also where others have it most of the time."""
    ctypes.CDLL(None).prctl(15, b"burner", 0, 0, 0)
    end = time.monotonic() + 1.5
    while time.monotonic() < end or time.thread_time() < 0.5:
        pass


def helper() -> None:
    """A thread that the counts must leave out."""
    recorder.ps_ignore_thread(threading.get_native_id())
    time.sleep(1.5)


threads = [threading.Thread(target=compute), threading.Thread(target=helper)]
for thread in threads:
    thread.start()
kept = bytearray(b"x") * 40_000_000
for thread in threads:
    thread.join()
