"""One process with a named thread that computes and 40 MB that stay: what the sampler must see."""

import ctypes
import os
import threading
import time

from tests.native.recorder.decode import Recording
from tests.native.recorder.jobs.recorded import PROCESS, is_sampled, samples, wait_until

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
recorder.ps_sampler_start()


def compute() -> None:
    """Keeps one core busy, for long enough also where others have it most of the time."""
    ctypes.CDLL(None).prctl(15, b"burner", 0, 0, 0)
    while not is_seen.is_set():
        pass


def helper() -> None:
    """A thread that the counts must leave out."""
    recorder.ps_ignore_thread(threading.get_native_id())
    is_seen.wait()


def is_enough(recording: Recording) -> bool:
    """Whether both threads were there in most samples, and the busy one was seen at it."""
    found = samples(recording, PROCESS)
    both = [one for one in found if one.peer == 2]
    busy = [one for one in recording.threads if one.name == "burner" and one.runnable_seen]
    is_busy = any(one.cpu_ns > 400_000_000 for one in busy)
    return is_busy and len(both) > max(10, 0.6 * len(found))


is_seen = threading.Event()
is_sampling = os.environ.get("PERFSCOPE_SAMPLE_HZ") != "0"
if is_sampling:  # before there is anything to see
    wait_until(is_sampled(PROCESS, 1))
threads = [threading.Thread(target=compute), threading.Thread(target=helper)]
for thread in threads:
    thread.start()
kept = bytearray(b"x") * 40_000_000
if is_sampling:
    wait_until(is_enough)
else:
    time.sleep(1.0)
is_seen.set()
for thread in threads:
    thread.join()
