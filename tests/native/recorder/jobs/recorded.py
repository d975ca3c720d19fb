"""For jobs that run until enough of them is recorded: what the recorder has written so far."""

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

from tests.native.recorder.decode import SAMPLE, Record, Recording, decode

PROCESS, DEVICE, DEVICE_PROCESS, TREE = 1, 4, 5, 6
AFFINITY, GPU = 5, 7  # texts
LOOK_EVERY_S = 0.05


def samples(recording: Recording, kind: int) -> list[Record]:
    """Its samples of one kind."""
    return [one for one in recording.of_kind(SAMPLE) if one.op == kind]


def so_far(pid: int | None = None) -> list[Recording]:
    """What is recorded of one process, or of all; nothing while a file is being written."""
    files = Path(os.environ["PERFSCOPE_DIR"]).glob(f"*/{pid or ''}*.rec")
    try:
        return [decode(file) for file in files]
    except (struct.error, UnicodeDecodeError, OSError, AssertionError):
        return []


def wait_until(is_enough: Callable[[Recording], object]) -> None:
    """Returns when what is recorded of this process is enough; a test's own limit ends it too."""
    while not any(map(is_enough, so_far(os.getpid()))):
        time.sleep(LOOK_EVERY_S)


def is_sampled(kind: int, count: int) -> Callable[[Recording], bool]:
    """Whether there are so many samples of a kind."""
    return lambda recording: len(samples(recording, kind)) >= count
