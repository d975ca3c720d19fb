"""Archives of which one rank's times cannot be: said first, and no efficiency follows from them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from tests.support.otf2_archives import ArchiveWriter

MS = 1_000_000
HOUR = 3600 * 1000 * MS
BEGIN, ROUNDS, PERIOD, ODD = HOUR, 50, 12 * MS, 2
LAST = BEGIN + ROUNDS * PERIOD
ALLREDUCE, NO_ROOT = 6, 0xFFFFFFFF


def archive(directory: Path, moved: Callable[[int], int]) -> Path:
    """Three ranks that work for 8 ms and wait for 3 ms, 50 times; one tells other times."""
    writer = ArchiveWriter(directory, length=1 << 50)
    world = writer.ranks(3)
    main = writer.region("main")
    allreduce = writer.region("MPI_Allreduce", role=25, paradigm=4)
    for rank in range(3):
        at = moved if rank == ODD else int
        writer.event(rank, "Enter", at(BEGIN), main)
        for start in range(BEGIN, LAST, PERIOD):
            enter, leave = at(start + 8 * MS), at(start + 11 * MS)
            writer.event(rank, "Enter", enter, allreduce)
            writer.event(rank, "MpiCollectiveBegin", enter)
            writer.event(rank, "MpiCollectiveEnd", leave, ALLREDUCE, world, NO_ROOT, 8, 8)
            writer.event(rank, "Leave", leave, allreduce)
        writer.event(rank, "Leave", at(LAST), main)
    return writer.close()


def after_half(later: int) -> Callable[[int], int]:
    return lambda time: time + (later if time > BEGIN + ROUNDS * PERIOD // 2 else 0)


CASES: dict[str, tuple[Callable[[int], int], str]] = {
    "an hour later": (lambda time: time + HOUR, "were not recorded at the same time"),
    "300 ms later": (lambda time: time + 300 * MS, "the clocks contradict each other"),
    "a jump of 5 s": (after_half(5000 * MS), "the clocks contradict each other"),
    "a jump of an hour": (after_half(HOUR), "Rank 2 has a gap of 60 min 00 s"),
    "in ps": (lambda time: BEGIN + (time - BEGIN) * 1000, "in different units"),
    "its begin at 0": (lambda time: 0 if time == BEGIN else time, "far outside of all others"),
    "its end in days": (
        lambda time: time + (99 * HOUR if time == LAST else 0),
        "far outside of all others",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_times_that_cannot_be_give_no_efficiency(tmp_path: Path, case: str) -> None:
    moved, why = CASES[case]
    document = analysis(open_trace(archive(tmp_path / "a", moved)), Options())
    assert why in document["verdict"]["sentence"]
    assert document["metrics"]["parallel_efficiency"]["value"] is None


def test_times_that_can_be_give_one(tmp_path: Path) -> None:
    document = analysis(open_trace(archive(tmp_path / "a", int)), Options())
    found = document["metrics"]["parallel_efficiency"]["value"]
    assert found == pytest.approx((8 + 49 * 9 + 1) / 600)


def test_calls_that_begin_a_job_do_not_tell_when_its_processes_started(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "archive")
    writer.ranks(2)
    init = writer.region("MPI_Init")
    for rank in range(2):
        writer.event(rank, "Enter", BEGIN + rank * MS, init)
        writer.event(rank, "Leave", BEGIN + 5 * MS, init)
    found = analysis(open_trace(writer.close()), Options())["findings"]
    (skew,) = [one for one in found if one["id"] == "initialization_skew"]
    assert "does not tell when the processes started" in skew["summary"]
