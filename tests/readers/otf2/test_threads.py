"""OTF2 archives with threads beside the ranks, and archives that lack events."""

from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.document.invariants import broken
from perfscope.matching.waits import split_operations
from perfscope.metrics.compute import compute
from perfscope.metrics.efficiency.pop import ONE_PROCESS
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import EndKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.otf2_archives import ArchiveWriter

MS = 1_000_000
MPI = {"role": 25, "paradigm": 4}
PARALLEL, BARRIER = {"role": 5, "paradigm": 3}, {"role": 16, "paradigm": 3}
USER = {"role": 1, "paradigm": 1}
FACTORS = ("parallel_efficiency", "load_balance", "communication_efficiency")


def span(writer: ArchiveWriter, location: int, region: int, start: int, end: int) -> None:
    """A region from one millisecond to another."""
    writer.event(location, "Enter", start * MS, region)
    writer.event(location, "Leave", end * MS, region)


def team(writer: ArchiveWriter, rank: int, busy: tuple[int, ...], first: int, end: int) -> None:
    """A parallel region whose threads compute so long each, and then wait in its barrier."""
    parallel = writer.region("!$omp parallel @main.c:7", **PARALLEL)
    barrier = writer.region("!$omp implicit barrier @main.c:9", **BARRIER)
    for thread, length in enumerate(busy):
        place = 10 * rank + thread
        writer.event(place, "Enter", first * MS, parallel)
        span(writer, place, barrier, first + length, end)
        writer.event(place, "Leave", end * MS, parallel)


def process(writer: ArchiveWriter, rank: int, threads: int) -> None:
    """A process and its threads, whose ids follow from its number."""
    writer.process(rank, f"MPI Rank {rank}")
    for thread in range(threads):
        writer.location(10 * rank + thread, f"Thread {thread}", rank)


def test_threads_of_openmp_are_judged_together(tmp_path: Path) -> None:
    """A serial second, a parallel one of four threads, and a tenth of a second more."""
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    process(writer, 0, 4)
    main = writer.region("main", **USER)
    writer.event(0, "Enter", 0, main)
    team(writer, 0, (1000, 750, 750, 500), 1000, 2000)
    writer.event(0, "Leave", 2100 * MS, main)
    trace = open_trace(writer.close())
    tree = compute(trace).efficiency
    found = [getattr(tree, name).value for name in FACTORS]
    assert found == pytest.approx([4.1 / 8.4, 4.1 / 4 / 2.1, 1.0])
    assert broken(analysis(trace, Options())) == []
    finding = analyze_trace(trace).findings["idle_threads"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(2.1 - 4.1 / 4)


def test_ranks_with_and_without_threads(tmp_path: Path) -> None:
    """The second rank has one thread, and the first is in MPI for 20 of 100 ms."""
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    for rank, threads in enumerate((2, 1)):
        process(writer, rank, threads)
    writer.group(4, [0, 10])
    writer.comm("MPI_COMM_WORLD", writer.group(5, [0, 1]))
    main, call = writer.region("main", **USER), writer.region("MPI_Test", **MPI)
    writer.event(0, "Enter", 0, main)
    team(writer, 0, (40, 20), 10, 50)
    span(writer, 0, call, 60, 80)
    writer.event(0, "Leave", 100 * MS, main)
    span(writer, 10, main, 0, 100)
    tree = compute(open_trace(writer.close())).efficiency
    found = [getattr(tree, name).value for name in FACTORS]
    assert found == pytest.approx([200 / 300, 200 / 300, 1.0])


def test_threads_of_which_regions_do_not_tell_the_work(tmp_path: Path) -> None:
    """Two threads of three idle: the main one alone would be an efficiency of 1."""
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    process(writer, 0, 3)
    main = writer.region("main", **USER)
    span(writer, 0, main, 0, 100)
    for thread in (1, 2):
        span(writer, thread, main, 40, 50)
    trace = open_trace(writer.close())
    assert trace.ranks[0].team == (None, None, None)
    tree = compute(trace).efficiency
    for name in FACTORS:
        assert getattr(tree, name).value is None
        assert "threads work beside the ranks" in (getattr(tree, name).reason or "")


def test_a_thread_without_regions_is_no_worker(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path)
    writer.node(0, "host0")
    writer.process(0, "Process")
    writer.location(0, "Master thread", 0)
    writer.location(1, "idle", 0)
    span(writer, 0, writer.region("main"), 0, 100)
    trace = open_trace(writer.close())
    assert trace.ranks[0].team == ()
    found = compute(trace).efficiency
    assert (found.load_balance.value, found.load_balance.reason) == (None, ONE_PROCESS)


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
