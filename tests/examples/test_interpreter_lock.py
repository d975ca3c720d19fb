"""A thread that runs Python code beside the training, in a real job, and one that computes."""

import sys

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.interpreter_lock import LockWait
from perfscope.readers.recording.reader import open_recording
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder

PROGRAM = REPOSITORY / "tests" / "programs" / "lock_holder.py"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def lock_wait(mpich: Mpi, record: Recorder, kind: str) -> LockWait:
    """What the main thread of rank 1 waited for its other thread, of that kind."""
    words = [*map(str, mpich.command(2)), sys.executable, str(PROGRAM), kind, "4"]
    recorded = record(words, variables=ONE_THREAD)
    assert recorded.exit_code == 0, recorded.stderr
    [found] = compute(open_recording(recorded.directory)).lock_waits
    assert found.rank == 1
    return found


def test_the_thread_that_keeps_the_lock_is_named(mpich: Mpi, record: Recorder) -> None:
    found = lock_wait(mpich, record, "python")
    assert found.waited_s > 0
    assert found.thread == "word counter"
    assert found.frame is not None
    assert found.frame.function == "count_words"


@pytest.mark.long
def test_a_thread_that_computes_without_the_lock_keeps_nothing(
    mpich: Mpi, record: Recorder
) -> None:
    found = lock_wait(mpich, record, "numpy")
    assert found.waited_s < 0.3 * found.work_s
