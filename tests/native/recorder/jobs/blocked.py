"""A process that the kernel holds in uninterruptible sleep for a while, as a disk would."""

import ctypes
import os
import sys
import threading
from pathlib import Path

from tests.native.recorder.jobs.recorded import PROCESS, samples, wait_until

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
assert recorder.ps_open() == 0
recorder.ps_set_rank(0, 1)
recorder.ps_sampler_start()
over = Path(os.environ["PERFSCOPE_DIR"]) / "over"


def end_it() -> None:
    """Lets it go on when it has been seen often enough."""
    wait_until(lambda found: sum(one.seq == 1 for one in samples(found, PROCESS)) >= 5)
    over.touch()


threading.Thread(target=end_it).start()
assert ctypes.CDLL(sys.argv[1]).hold(bytes(over)) == 0
