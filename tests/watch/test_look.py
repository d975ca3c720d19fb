"""What a picture tells of recordings whose answer is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.errors import NothingYetError, UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.recording.layout import HEADER_DTYPE, HeaderFlag, SampleKind
from perfscope.readers.recording.reader import open_recording
from perfscope.readers.recording.record_file import read_record_file
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.standstill.now import ASLEEP, COMPUTING
from perfscope.standstill.ranks import ranks_now
from perfscope.trace.model import Ending
from perfscope.trace.samples import MAIN_SAMPLE_DTYPE
from perfscope.watch import clock, page
from perfscope.watch.blocks import blocks
from perfscope.watch.look import look
from tests.support.trace_builder import TraceBuilder
from tests.support.write_recording import (
    BOOT_ID,
    MONO_START_NS,
    REAL_START_NS,
    ProcessWriter,
    write_run,
)

GIB = 1 << 30


def running(directory: Path, seconds: int = 200, name: str = "train.py") -> None:
    """Two ranks that still run: a step a second, rank 1 comes half a second late to each."""
    for rank in (0, 1):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank, flags=HeaderFlag.MPI)
        process.communicator(0, 77, [0, 1])
        for second in range(2, seconds):
            process.op("MPI_Allreduce", second + 0.25 + 0.5 * rank, second + 0.75, sent=8)
            process.step(second - 2, second, second + 1.0, sent=4, received=8)
            process.sample(
                SampleKind.PROCESS, second, sent=(rank * second << 20) + GIB, peer=3, tag=1
            )
            process.sample(
                SampleKind.NODE, second, sent=4 * GIB, received=8 * GIB, request=GIB, peer=2
            )
            process.stack(second + 0.1, [("<module>", f"/w/{name}", 9), ("train", f"/w/{name}", 7)])
        process.op("MPI_Allgather" if rank else "MPI_Allreduce", seconds + 0.25, None)
        process.header |= {
            "init_exit_ns": process.mono(1.0),
            "alive_ns": process.mono(seconds + 1.0),
            "cgroup_memory_limit": 3 * GIB,
        }
        process.write(directory)
    write_run(directory, end_mono_ns=None, exit_code=None)


def test_rates_are_those_of_the_window(tmp_path: Path) -> None:
    running(tmp_path)
    picture = look(tmp_path, window_s=60)
    assert picture.steps is not None
    assert picture.steps.last == 197
    assert picture.steps.per_s == pytest.approx(1.0, abs=2 / 60)
    assert picture.steps.samples_per_s == pytest.approx(8.0, abs=16 / 60)
    # rank 1, half a second late to the second, is waited for as long
    assert [(late.rank, late.place) for late in picture.late] == [(1, "train() (train.py:7)")]
    assert picture.late[0].waiting_s == pytest.approx(30, abs=1)
    assert not picture.is_over


def test_efficiency_of_the_window_is_that_of_the_analysis(tmp_path: Path) -> None:
    running(tmp_path)
    picture = look(tmp_path, window_s=60)
    trace = open_recording(tmp_path)
    end_s = max(rank.end_ns for rank in trace.ranks) / 1e9
    whole = compute(trace, Options(focus=f"{end_s - 60}:{end_s}")).efficiency
    assert picture.parallel_efficiency.value == pytest.approx(whole.parallel_efficiency.value)
    assert picture.load_balance.value == pytest.approx(whole.load_balance.value)


def test_memory_is_full_when_steady_growth_has_filled_the_limit(tmp_path: Path) -> None:
    running(tmp_path)
    [host] = look(tmp_path).memory
    # 3 GiB of limit less 1 GiB charged; rank 1 grows by 1 MiB a second
    assert (host.room_bytes, host.limit) == (2 * GIB, "limit of the control group")
    assert host.growth_bytes_per_s == pytest.approx(1 << 20, rel=0.02)
    assert host.left_s == pytest.approx(2048, rel=0.02)


def test_operations_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    running(tmp_path)
    picture = look(tmp_path)
    [pending] = picture.pending
    assert pending.operation == "MPI_Allgather and MPI_Allreduce"
    assert (pending.ordinal, pending.missing) == (198, ())
    assert pending.mismatch == (("MPI_Allgather", (1,)), ("MPI_Allreduce", (0,)))
    stalled = blocks(picture, stall_s=0.5)[1]
    assert stalled.is_loud
    told = "rank 1 called MPI_Allgather in train() (train.py:7), rank 0 called MPI_Allreduce"
    assert "its members called different operations" in stalled.lines[1]
    assert told in stalled.lines[1]


def test_only_what_is_recent_is_read(tmp_path: Path) -> None:
    process = ProcessWriter(flags=HeaderFlag.MPI)
    process.op("MPI_Barrier", 1.0, None)
    for tenth in range(20, 40_000):
        process.sample(SampleKind.PROCESS, tenth / 10, sent=GIB)
    path = process.write(tmp_path)
    recent = read_record_file(path, recent_s=10).records
    # one block of 4,096 slots, and of the older ones where the main thread is
    assert 100 <= len(recent) <= 4097
    assert recent["op"][0] != SampleKind.PROCESS
    assert np.all(np.diff(recent["t0_ns"].astype(np.int64)) >= 0)


def test_the_line_of_a_rank_that_lets_no_sampler_run_is_the_last_one_seen(tmp_path: Path) -> None:
    running(tmp_path, 20)
    for path in tmp_path.glob("*/*.rec"):
        # two minutes of life without a sample: code that holds the interpreter's lock
        content = bytearray(path.read_bytes())
        header = np.frombuffer(content, HEADER_DTYPE, count=1)
        header["alive_ns"] += 120 * 10**9
        path.write_bytes(bytes(content))
    picture = look(tmp_path)
    assert [rank.place for rank in picture.ranks] == ["train() (train.py:7)"] * 2
    assert picture.stalled_s > 100
    assert min(rank.sampled_s or 0 for rank in picture.ranks) > 100


def test_texts_of_the_job_cannot_become_markup(tmp_path: Path) -> None:
    running(tmp_path, 20, name="<script>alert(1)</script>.py")
    shown = page.page(blocks(look(tmp_path), stall_s=1), source="<b>", refresh_s=2)
    assert "<script" not in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(("busy", "doing"), [(0.9, COMPUTING), (0.05, ASLEEP)])
def test_a_rank_that_neither_runs_nor_waits_for_a_cpu_is_asleep(busy: float, doing: str) -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).init(1.0, enter_s=0.5)
    trace = builder.build()
    [rank] = trace.ranks
    rank.ending = Ending(EndKind.UNKNOWN, None, "")
    samples = np.zeros(50, MAIN_SAMPLE_DTYPE)
    samples["t"] = np.linspace(2e9, 10e9, 50)
    samples["cpu_ns"] = samples["queue_delay_ns"] = samples["t"] * busy / 2
    rank.main_samples = samples
    [seen] = ranks_now(trace, 10_000_000_000, np.empty(0, np.int64))
    assert (seen.doing, seen.since_s) == (doing, 9.0)


def starting(directory: Path, *, exit_code: int | None, asked_for: int = 3) -> None:
    """Three processes of a job without Python that are in MPI_Init."""
    for pid in (100, 101, 102):
        process = ProcessWriter(rank=-1, size=-1, pid=pid, flags=HeaderFlag.MPI)
        process.op("MPI_Init", 1.0, None)
        process.header |= {"init_exit_ns": 0, "alive_ns": process.mono(2.0)}
        process.write(directory)
    write_run(directory, end_mono_ns=None, exit_code=exit_code, ranks_requested=asked_for)


def test_a_job_in_its_start_has_no_ranks_yet_and_is_no_set_of_worlds(tmp_path: Path) -> None:
    starting(tmp_path, exit_code=None)
    [head, stalled] = blocks(look(tmp_path), stall_s=0.1)
    assert "3 processes on 1 host, in MPI_Init: none has been told its rank yet" in head.lines
    assert "MPI_Init ends when all processes of the job have called it" in stalled.lines[1]


def test_a_start_that_does_not_end_is_a_stall_though_nothing_gives_signs_of_life(
    tmp_path: Path,
) -> None:
    starting(tmp_path, exit_code=None, asked_for=5)
    [head, stalled] = blocks(look(tmp_path), stall_s=30)
    assert "3 processes of 5 on 1 host" in head.lines[1]
    assert (stalled.is_loud, stalled.title) == (True, "Stalled")
    assert "3 processes of the 5 that the command asks for" in stalled.lines[1]
    [_] = blocks(look(tmp_path), stall_s=1e12)


def waiting(directory: Path, *open_calls: str, world: int, peers: Sequence[int] = ()) -> None:
    """Ranks of which each is in a call, "" for none."""
    for rank, name in enumerate(open_calls):
        process = ProcessWriter(rank=rank, size=world, pid=100 + rank, flags=HeaderFlag.MPI)
        process.communicator(0, 77, list(range(world)))
        if name:
            process.op(name, 3.0, None, **({"peer": peers[rank], "tag": 7} if peers else {}))
        process.stack(4.0, [("train", "/w/train.py", 7)])
        is_in_start = name == "MPI_Init"
        process.header |= {
            "init_exit_ns": 0 if is_in_start else process.mono(1.0),
            "alive_ns": process.mono(9.0),
        }
        process.write(directory)
    write_run(directory, end_mono_ns=None, exit_code=None)


def reason(directory: Path) -> str:
    return blocks(look(directory), stall_s=1.0)[1].lines[1]


def test_the_end_of_mpi_waits_for_all(tmp_path: Path) -> None:
    waiting(tmp_path, "MPI_Finalize", "", world=3)
    assert reason(tmp_path).startswith(
        "MPI_Finalize on MPI_COMM_WORLD: rank 0 waits for ranks 1-2; rank 1 is in train()"
    )


def test_ranks_that_send_to_each_other_wait_in_a_circle(tmp_path: Path) -> None:
    waiting(tmp_path, "MPI_Send", "MPI_Send", "MPI_Recv", world=3, peers=(1, 0, 1))
    assert reason(tmp_path).startswith(
        "Ranks 0-1 wait for each other in a circle: "
        "rank 0 is in MPI_Send (rank 1, tag 7), called in train() (train.py:7), without"
    )


def test_looks_for_work_of_a_library_are_no_progress_and_phases_tell_ranks_apart(
    tmp_path: Path,
) -> None:
    """Horovod's thread asks all the time which tensors are ready; each rank waits for another."""
    for rank, name in enumerate(("hvd.allreduce", "hvd.broadcast")):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank, flags=HeaderFlag.MPI)
        process.phase(PhaseKind.USER, 2.0, None, name=name)
        process.stack(2.5, [("train", "/w/train.py", 7)])
        for tenth in range(30, 600):
            process.op("Horovod_control", tenth / 10, tenth / 10 + 0.05, tid=9)
        process.header |= {"init_exit_ns": process.mono(1.0), "alive_ns": process.mono(60.0)}
        process.write(tmp_path)
    write_run(tmp_path, end_mono_ns=None, exit_code=None)
    [seen] = {round(one.since_s - one.silent_s) for one in look(tmp_path).ranks}
    assert seen == 58
    told = reason(tmp_path)
    assert told.startswith(
        "Ranks are apart: rank 0 is in train() (train.py:7) (phase hvd.allreduce)"
    )
    assert "rank 1 is in train() (train.py:7) (phase hvd.broadcast)" in told


def test_who_does_not_send_is_named_with_what_it_does(tmp_path: Path) -> None:
    waiting(tmp_path, "MPI_Recv", "MPI_Recv", "", world=3, peers=(2, 2, 0))
    assert (
        "Ranks 0-1 wait for a message from or to rank 2; rank 2 is in train() (train.py:7)"
        in reason(tmp_path)
    )


def test_processes_that_ended_in_their_start_did_not_say_that_they_are_alone(
    tmp_path: Path,
) -> None:
    starting(tmp_path, exit_code=1)
    texts = [one.text for one in compute(open_recording(tmp_path)).damage]
    assert not any("never met" in text for text in texts)
    assert any(text.startswith("The 3 processes were last seen in MPI_Init") for text in texts)


def test_who_is_through_with_a_collective_is_not_waited_for(tmp_path: Path) -> None:
    """Rank 1 has given to the root and gone on; the root waits for rank 2 alone."""
    for rank in (0, 1, 2):
        process = ProcessWriter(rank=rank, size=3, pid=100 + rank, flags=HeaderFlag.MPI)
        process.communicator(0, 77, [0, 1, 2])
        if rank < 2:
            process.op("MPI_Reduce", 2.0, None if rank == 0 else 2.1, sent=8)
        process.header |= {"init_exit_ns": process.mono(1.0), "alive_ns": process.mono(9.0)}
        process.write(tmp_path)
    write_run(tmp_path, end_mono_ns=None, exit_code=None)
    picture = look(tmp_path)
    [pending] = picture.pending
    assert (pending.inside, pending.missing) == ((0,), (2,))
    assert "rank 0 waits for rank 2; rank 2 is in" in blocks(picture, stall_s=1.0)[1].lines[1]


def test_calls_that_have_not_returned_do_not_tell_of_another_run(tmp_path: Path) -> None:
    """Rank 0 was last seen, waiting in a barrier, before rank 1 came to it."""
    for rank, enter_s, alive_s in ((0, 2.0, 4.0), (1, 5.0, 5.1)):
        process = ProcessWriter(rank=rank, size=2, pid=100 + rank, flags=HeaderFlag.MPI)
        process.communicator(0, 77, [0, 1])
        process.op("MPI_Barrier", enter_s, None)
        process.header |= {"init_exit_ns": process.mono(1.0), "alive_ns": process.mono(alive_s)}
        process.write(tmp_path)
    write_run(tmp_path, end_mono_ns=None, exit_code=None)
    damage = compute(open_recording(tmp_path)).damage
    assert not any("cannot be of one run" in one.text for one in damage)


def test_a_job_of_which_nothing_is_recorded_yet_runs_all_the_same(tmp_path: Path) -> None:
    write_run(tmp_path, end_mono_ns=None, exit_code=None)
    picture = look(tmp_path)
    assert not picture.is_over
    head, stalled = blocks(picture, stall_s=1.0)
    assert head.lines[1].startswith("nothing is recorded yet, running, ")
    assert "no process of the job has called MPI or run Python" in stalled.lines[0]
    with pytest.raises(NothingYetError) as caught:
        open_recording(tmp_path)
    assert "has not told its end" in caught.value.why


@pytest.mark.parametrize(
    ("told", "running_s"),
    [
        ({}, 53.5),
        ({"time_namespace": 4026531834}, 53.5),
        ({"time_namespace": 4026532999}, 3653.5),  # a container's clock has an offset of its own
        ({"boot_id": "another"}, 3653.5),
        ({"boot_id": "another", "start_unix_ns": None}, 0.0),
        ({"time_namespace": 4026532999, "start_unix_ns": None}, 0.0),
        ({"start_unix_ns": None}, 53.5),
    ],
)
def test_how_long_a_job_without_records_runs_is_told_by_a_clock_that_is_its_own(
    told: dict[str, Any], running_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock was set an hour ahead meanwhile."""
    write_run(tmp_path, end_mono_ns=None, exit_code=None, **told)
    after_ns = 53 * 10**9
    monkeypatch.setattr(clock, "own_clock", lambda: (BOOT_ID, 4026531834))
    monkeypatch.setattr("perfscope.watch.look.own_clock", clock.own_clock)
    monkeypatch.setattr("perfscope.watch.clock.time.monotonic_ns", lambda: MONO_START_NS + after_ns)
    unix_ns = REAL_START_NS + 3600 * 10**9 + after_ns
    monkeypatch.setattr("perfscope.watch.clock.time.time_ns", lambda: unix_ns)
    assert look(tmp_path).running_s == pytest.approx(running_s)


def test_a_job_that_ended_without_a_recording_does_not_run(tmp_path: Path) -> None:
    write_run(tmp_path, exit_code=3)
    with pytest.raises(UnreadableInputError, match="Nothing was recorded") as caught:
        look(tmp_path)
    assert "ended with exit code 3 before" in caught.value.why


@pytest.mark.parametrize(("boot_id", "stalled_s"), [(BOOT_ID, 50.0), ("another", 3650.0)])
def test_time_is_told_by_the_clock_of_the_records_where_it_can_be_read(
    boot_id: str, stalled_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock was set an hour ahead meanwhile."""
    waiting(tmp_path, "MPI_Recv", "MPI_Recv", world=2, peers=(1, 0))
    own = ProcessWriter()
    after_s = 53.0
    monkeypatch.setattr(clock, "own_clock", lambda: (boot_id, 4026531834))
    monkeypatch.setattr("perfscope.watch.clock.time.monotonic_ns", lambda: own.mono(after_s))
    unix_ns = REAL_START_NS + own.mono(after_s + 3600.0) - MONO_START_NS
    monkeypatch.setattr("perfscope.watch.clock.time.time_ns", lambda: unix_ns)
    assert look(tmp_path).stalled_s == pytest.approx(stalled_s)
