"""Calls of MPI in threads that the main one hands its work to, as JAX and pools do."""

from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.handed_calls import take_handed_calls
from perfscope.readers.recording.reader import open_recording
from tests.support.environments import Mpi
from tests.support.recording import Recorder, analysis_of
from tests.support.trace_builder import TraceBuilder

PROGRAM = """
import sys, time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
waits = sys.argv[1] == "waits"


def train(turn):
    time.sleep(0.04 if world.rank else 0.01)
    total = np.zeros(8)
    world.Allreduce(np.ones(8), total)
    return total


with ThreadPoolExecutor(1) as pool:
    pending = [pool.submit(train, turn) for turn in range(50)]
    while not waits and not pending[-1].done():
        sum(range(50_000))
    print(sum(one.result() for one in pending)[0])
"""


@pytest.mark.parametrize("waits", [True, False])
def test_calls_are_the_main_threads_if_it_waits_for_them(
    waits: bool, mpich: Mpi, record: Recorder, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = record(mpich.python_command(2, program, "waits" if waits else "works"))
    assert (done.exit_code, done.stdout) == (0, "100.0\n" * 2), done.stderr
    trace = open_recording(done.directory)
    for rank in trace.ranks:
        calls = rank.operations[rank.operations["sent"] > 0]
        assert len(calls) == 50
        assert np.all((calls["tid"] == rank.main_tid) == waits)
    told = [note for note in trace.notes if "made by other threads" in note]
    assert len(told) == (2 if waits else 0)
    document = analysis_of(done.directory)
    assert document["replay"]["available"] == waits
    # 10 and 40 ms of work in each turn; without the calls of the threads it would be 1.00
    assert (document["metrics"]["load_balance"]["value"] < 0.9) == waits


@pytest.mark.parametrize(("begin_s", "handed"), [(3.0, 2), (2.5, 0)])
def test_calls_of_two_threads_at_once_stay_with_them(begin_s: float, handed: int) -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0)
    rank.op("MPI_Barrier", 2.0, 3.0, tid=7).op("MPI_Barrier", begin_s, 4.0, tid=8)
    for second in range(10):
        rank.main_sample(float(second)).process_sample(float(second))
    [built] = builder.build().ranks
    assert take_handed_calls(built) == handed
    assert np.all((built.operations["tid"] == built.main_tid) == bool(handed))


def test_callers_give_the_main_thread_what_they_used() -> None:
    """Of 6 s that the process used the main thread has 1 s, and the caller 4 of the other 5."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0)
    rank.op("MPI_Barrier", 2.0, 8.0, tid=7)
    rank.thread("pool", tid=7, cpu_s=4.0).thread("other", tid=8, cpu_s=1.0)
    for second in range(11):
        rank.main_sample(float(second), cpu_s=0.1 * second)
        rank.process_sample(float(second), cpu_s=0.6 * second)
    [built] = builder.build().ranks
    assert take_handed_calls(built) == 1
    assert built.main_samples["cpu_ns"][-1] == pytest.approx(5e9)
