"""Calls of MPI in threads that the main one hands its work to, as JAX and pools do."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from perfscope.readers.recording.handed_calls import take_handed_calls
from perfscope.readers.recording.reader import open_recording
from perfscope.schema.enums import PhaseKind
from perfscope.trace.columns import Columns
from perfscope.trace.model import PHASE_DTYPE, Rank, RowFlag
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


def one_rank(*calls: tuple[float, float, int], main_s: float, others_s: float) -> Rank:
    """A rank of 10 s whose main thread and threads that call nothing use so much CPU time."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0)
    for begin_s, end_s, tid in calls:
        rank.op("MPI_Barrier", begin_s, end_s, tid=tid)
    rank.thread("pool", tid=7, cpu_s=4.0).thread("other", tid=8, cpu_s=others_s)
    for second in range(11):
        part = second / 10
        rank.main_sample(float(second), cpu_s=main_s * part)
        rank.process_sample(float(second), cpu_s=(main_s + 4.0 + others_s) * part)
        rank.clock_sample(float(second), cpu_s=main_s * part)
    [built] = builder.build().ranks
    return built


@pytest.mark.parametrize(("begin_s", "handed"), [(3.0, 2), (2.5, 0)])
@pytest.mark.parametrize("by_column", [False, True])
def test_calls_of_two_threads_at_once_stay_with_them(
    begin_s: float, handed: int, by_column: bool
) -> None:
    rank = one_rank((2.0, 3.0, 7), (begin_s, 4.0, 8), main_s=0.0, others_s=0.0)
    if by_column:
        rows = rank.operations
        columns = {name: rows[name].copy() for name in rows.dtype.names or ()}
        rank.operations = cast("Any", Columns(rows.dtype, columns))
    assert take_handed_calls(rank) == handed
    assert np.all((rank.operations["tid"] == rank.main_tid) == bool(handed))
    assert np.all((rank.operations["flags"] & RowFlag.HANDED > 0) == bool(handed))


@pytest.mark.parametrize(
    ("main_s", "others_s", "handed"), [(0.5, 0.5, 1), (8.0, 0.0, 0), (0.5, 8.0, 0)]
)
def test_calls_stay_where_something_else_is_at_work(
    main_s: float, others_s: float, handed: int
) -> None:
    """A listener's, while the main thread computes or waits for a thread that does."""
    rank = one_rank((1.0, 9.0, 7), main_s=main_s, others_s=others_s)
    assert take_handed_calls(rank) == handed


def test_calls_stay_where_a_framework_tells_what_is_waited_for() -> None:
    rank = one_rank((1.0, 9.0, 7), main_s=0.5, others_s=0.0)
    rank.phases = np.zeros(1, PHASE_DTYPE)
    rank.phases["kind"] = PhaseKind.COMMUNICATION
    assert take_handed_calls(rank) == 0


def test_callers_give_the_main_thread_what_they_used_during_their_calls() -> None:
    """Half of the 10 s are calls, in which the caller used half of its 4 s of CPU time."""
    rank = one_rank((2.0, 7.0, 7), main_s=1.0, others_s=1.0)
    assert take_handed_calls(rank) == 1
    grown = np.diff(rank.main_samples["cpu_ns"]) / 1e9
    assert grown == pytest.approx([0.1] * 2 + [0.5] * 5 + [0.1] * 3)
    assert rank.clock_samples["t"].tolist() == [0, 10**9, *(at * 10**9 for at in (7, 8, 9, 10))]
