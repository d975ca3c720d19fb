"""Horovod's thread is read as a location of its own, and is never taken for the rank's."""

from pathlib import Path

import pytest

from perfscope.readers import open_recording
from perfscope.readers.common.clocks import shift
from perfscope.readers.recording.layout import NO_ID, RecordKind
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import RowFlag
from perfscope.trace.operations import HOROVOD_CONTROL
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import ProcessWriter, write_run

THREAD = 177
SECOND = 10**9


def write(directory: Path, *, has_control: bool = True) -> None:
    process = ProcessWriter(rank=0, size=1, metadata={"schema": 1, "frameworks": {"horovod": {}}})
    process.communicator(0, 5, [0])
    process.header |= {
        "main_tid": THREAD,  # it initialized MPI
        "init_exit_ns": process.mono(1.0),
        "finalize_enter_ns": process.mono(6.0),
        "exit_ns": process.mono(10.0),
    }
    if has_control:
        joined = {"tid": THREAD, "comm": 0, "seq": NO_ID, "request": 500, "received": 1000}
        process.op("Horovod_control", 1.0, 1.5, **joined)
        ready = {"tid": THREAD, "comm": 0, "sent": 3, "received": 2, "request": 4}
        process.record(RecordKind.READINESS, 1, 2.0, 2.1, **ready)
    process.op("MPI_Allreduce", 2.2, 2.4, tid=THREAD, sent=400, received=400)
    process.op("MPI_Finalize", 6.0, 7.0, tid=THREAD, seq=NO_ID)
    process.op("MPI_Barrier", 3.0, 3.1)
    process.step(0, 2.0, 3.0)
    process.phase(PhaseKind.EVALUATE, 5.0, 8.0)
    process.write(directory)
    write_run(directory, launcher={"kind": "direct"}, ranks_requested=None)


def test_the_thread_is_apart_and_the_program_is_the_main_location(tmp_path: Path) -> None:
    write(tmp_path)
    trace = open_recording(tmp_path)
    check_trace(trace)
    assert trace.notes == []
    [rank] = trace.ranks
    assert rank.main_tid == rank.pid
    assert set(rank.background["tid"].tolist()) == {THREAD}
    assert len(rank.operations) == 1
    control = rank.background[rank.background["op"] == HOROVOD_CONTROL]
    assert control["request"].tolist() == [500]
    assert control["flags"].tolist() == [RowFlag.COALESCED]
    [ready] = rank.readiness
    assert (ready["t1"] - ready["t0"]) == SECOND // 10
    assert (ready["arrived"], ready["agreed"], bool(ready["uncached"])) == (3, 2, True)


def test_the_rank_has_not_finalized_before_its_own_work_is_done(tmp_path: Path) -> None:
    write(tmp_path)
    [rank] = open_recording(tmp_path).ranks
    assert rank.finalize_enter_ns == rank.phases["t1"][-1]


@pytest.mark.parametrize("has_control", [True, False])
def test_a_rank_moves_with_all_of_its_tables(tmp_path: Path, has_control: bool) -> None:
    write(tmp_path, has_control=has_control)
    [rank] = open_recording(tmp_path).ranks
    before = rank.background["t0"].copy(), rank.readiness["t0"].copy()
    assert len(before[0]) == (3 if has_control else 2)
    shift(rank, SECOND)
    assert (rank.background["t0"] - before[0]).tolist() == [SECOND] * len(before[0])
    assert (rank.readiness["t0"] - before[1]).tolist() == [SECOND] * len(before[1])
