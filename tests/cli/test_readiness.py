"""What a command does before it analyzes: numpy starts no threads, and nobody else sees why."""

import os
import subprocess
import sys

import pytest

CODE = """
import os
from pathlib import Path

from perfscope.cli.readiness import get_ready

before = dict(os.environ)
get_ready()
assert dict(os.environ) == before
import numpy
print(len(list(Path("/proc/self/task").iterdir())))
"""


@pytest.mark.parametrize(("asked", "threads"), [(None, 1), ("2", min(2, os.cpu_count() or 1))])
def test_numpy_starts_as_many_threads_as_somebody_asks_for(asked: str | None, threads: int) -> None:
    environment = {"OPENBLAS_NUM_THREADS": asked} if asked else {}
    done = subprocess.run(
        [sys.executable, "-c", CODE], check=False, capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == threads
