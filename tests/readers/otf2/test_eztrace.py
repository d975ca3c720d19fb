"""Archives that EZTrace 2.0 (Debian's) made of three small programs whose answers are known.

`mpi`: three ranks, ten times a message from rank 0 to 1 and an allreduce to which rank 1 comes late
by 10 ms. `openmp`: five parallel regions of three threads. `pthread`: three threads and a mutex.
"""

import tarfile
from pathlib import Path

import pytest

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Format, Trace
from perfscope.trace.operations import name_of
from tests.support.trace_invariants import check_trace

ARCHIVES = Path(__file__).with_name("eztrace.tar.gz")


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Trace:
    """The archive of the program that the test names."""
    with tarfile.open(ARCHIVES) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # not in Python 3.11.2
        packed.extractall(tmp_path)
    trace = open_trace(tmp_path / request.param)
    check_trace(trace)
    assert trace.format is Format.OTF2
    return trace


@pytest.mark.parametrize("opened", ["mpi"], indirect=True)
def test_calls_of_ranks_are_counted_and_the_others_wait_for_the_late_one(opened: Trace) -> None:
    counts = [
        {name_of(code): total[0] for code, total in rank.totals.items()} for rank in opened.ranks
    ]
    assert [found["MPI_Allreduce"] for found in counts] == [10, 10, 10]
    assert (counts[0]["MPI_Send"], counts[1]["MPI_Recv"]) == (10, 10)
    spent = [
        next(total[1] for code, total in rank.totals.items() if name_of(code) == "MPI_Allreduce")
        for rank in opened.ranks
    ]
    assert min(spent[0], spent[2]) > 90e6


@pytest.mark.parametrize("opened", ["openmp", "pthread"], indirect=True)
def test_threads_whose_regions_do_not_tell_waiting_have_no_efficiency(opened: Trace) -> None:
    """Never one rank that is said to work all of the time while its threads wait."""
    assert len(opened.ranks) == 1
    found = compute(opened).efficiency
    for metric in (found.parallel_efficiency, found.load_balance, found.communication_efficiency):
        assert metric.value is None
        assert "thread" in (metric.reason or "")
