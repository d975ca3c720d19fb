"""OTF2 archives with threads beside the ranks, and archives that lack events."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.waits import split_operations
from perfscope.readers.registry import open_trace
from perfscope.trace.model import EndKind
from tests.support.otf2_archives import ArchiveWriter

MS = 1_000_000
MPI = {"role": 25, "paradigm": 4}
OPENMP = {"role": 9, "paradigm": 5}


def span(writer: ArchiveWriter, location: int, region: int, start: int, end: int) -> None:
    """A region from one millisecond to another."""
    writer.event(location, "Enter", start * MS, region)
    writer.event(location, "Leave", end * MS, region)


def test_threads_beside_a_rank_leave_its_efficiency_open(tmp_path: Path) -> None:
    """Two threads of three idle: the main one alone would be an efficiency of 1."""
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    writer.process(0, "Process")
    for thread in range(3):
        writer.location(thread, f"Thread {thread}", 0)
    main, parallel = writer.region("main"), writer.region("!$omp parallel", **OPENMP)
    span(writer, 0, main, 0, 100)
    for thread in (1, 2):
        span(writer, thread, parallel, 40, 50)
    trace = open_trace(writer.close())
    assert trace.ranks[0].team == (None, None, None)
    tree = compute(trace).efficiency
    for metric in (tree.parallel_efficiency, tree.load_balance, tree.communication_efficiency):
        assert metric.value is None
        assert "threads work beside the ranks" in (metric.reason or "")


def test_a_thread_without_regions_is_no_worker(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    writer.process(0, "Process")
    writer.location(0, "Master thread", 0)
    writer.location(1, "idle", 0)
    span(writer, 0, writer.region("main"), 0, 100)
    trace = open_trace(writer.close())
    assert trace.ranks[0].team == ()
    assert compute(trace).efficiency.parallel_efficiency.value == pytest.approx(1.0)


@pytest.mark.parametrize("is_mpi", [True, False])
def test_a_process_without_events_is_a_missing_rank(tmp_path: Path, is_mpi: bool) -> None:
    writer = ArchiveWriter(tmp_path)
    if is_mpi:
        writer.ranks(3)
    else:
        writer.node(0, "host0")
        for number in range(3):
            writer.process(number, f"Process {number}")
            writer.location(number, "Master thread", number)
    main = writer.region("main")
    for rank in (0, 1):
        span(writer, rank, main, 0, 100)
    trace = open_trace(writer.close())
    assert trace.world_size == 3
    assert trace.missing_ranks == [2]


def test_fewer_events_than_the_archive_says_are_a_cut(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    for number, events in enumerate((4, 6)):
        writer.process(number, f"Process {number}")
        writer.location(number, "Master thread", number, events=events)
    main = writer.region("main")
    for rank in (0, 1):
        span(writer, rank, main, 0, 60)
    span(writer, 0, main, 60, 100)
    span(writer, 1, main, 60, 70)
    trace = open_trace(writer.close())
    assert [rank.ending.kind for rank in trace.ranks] == [EndKind.EXITED, EndKind.UNKNOWN]
    assert [rank.detail_end_ns for rank in trace.ranks] == [None, 70 * MS]
    assert compute(trace).focus.end_ns == 70 * MS


@pytest.mark.parametrize("behind", [0, 30])
def test_ranks_of_one_host_whose_clocks_contradict_each_other(tmp_path: Path, behind: int) -> None:
    """Some tools count the time of each process from its own start."""
    writer = ArchiveWriter(tmp_path)
    world = writer.ranks(2)
    barrier = writer.region("MPI_Barrier", **MPI)
    for at in range(100, 1100, 100):
        for rank in (0, 1):
            shift = behind * rank
            writer.event(rank, "Enter", (at + shift) * MS, barrier)
            writer.event(rank, "MpiCollectiveBegin", (at + shift) * MS)
            values = (0, world, 0xFFFFFFFF, 0, 0)
            writer.event(rank, "MpiCollectiveEnd", (at + 10 + shift) * MS, *values)
            writer.event(rank, "Leave", (at + 10 + shift) * MS, barrier)
    checked = split_operations(open_trace(writer.close())).clocks
    assert checked.whole_world is (behind == 0)
    assert ("ranks of one host" in checked.reason) is (behind > 0)
