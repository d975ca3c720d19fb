"""The checks of the code that `make test` runs beside the tests."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

LONGEST_S = 900.0
_INTERVAL_S = 0.2


def wait_for_checks(
    build: Path, say: Callable[[str], None], *, longest_s: float = LONGEST_S
) -> None:
    """Returns when the checks, which hold the lock of a folder, have ended or take too long.

    Whether they have failed is told by make, which ends after all its parts have.
    """
    lock = os.open(build, os.O_RDONLY)
    try:
        if _is_free(lock):
            return
        say("waiting for the checks")
        end = time.monotonic() + longest_s
        while time.monotonic() < end:
            if _is_free(lock):
                return
            time.sleep(_INTERVAL_S)
        say("the checks go on: make waits for them")
    finally:
        os.close(lock)


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
