"""Real jobs on two emulated hosts whose clocks are far apart, against what the ranks logged."""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.document.quality import quality
from perfscope.matching.waits import Waits, split_operations
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import HEADER_DTYPE
from perfscope.trace.model import Trace
from perfscope.trace.operations import code_of
from tests.findings.analyzed import analyze_trace
from tests.support import environments
from tests.support.hosts import on_hosts, remote_shell
from tests.support.recording import Recorder
from tests.support.trace_invariants import check_trace

PROGRAM = Path(__file__).parents[1] / "programs" / "two_hosts.py"
SHIFTS_S = {"nodea": 7, "nodeb": 70}
APART_NS = 63 * 10**9
ROUNDS = 160
RIGHT_NS = 100_000
"""Beside what perfscope itself says that its clocks may be wrong by: that depends on how quick the
quickest messages are, which wait for a CPU on a busy machine."""
MOST_NS = 10**7
ROUNDED_NS = 2


def logged(directory: Path, ranks: int) -> npt.NDArray[np.int64]:
    """Enter and exit of each barrier by the wall clock, shape (ranks, rounds, 2)."""
    logs = [json.loads((directory / f"rank{rank}.json").read_text()) for rank in range(ranks)]
    return np.array(logs, np.int64)


def barriers(waits: Waits, position: int) -> npt.NDArray[np.int64]:
    rows = np.arange(len(waits.pool))[waits.of_rank(position)]
    chosen: npt.NDArray[np.int64] = rows[waits.pool.op[rows] == code_of("MPI_Barrier")]
    return chosen


def check(trace: Trace, log: npt.NDArray[np.int64]) -> None:
    """The shift, and wait and transfer of each barrier, as exactly as the clocks are known."""
    check_trace(trace)
    assert trace.missing_ranks == []
    far = [rank for rank in trace.ranks if rank.host == "nodeb"]
    near = [rank for rank in trace.ranks if rank.host == "nodea"]
    assert {rank.clock_error_ns for rank in near} == {0}
    assert {rank.clock_drift_ppm for rank in far} == {far[0].clock_drift_ppm}
    for rank in far:  # of one clock: where it drifts, ranks that start later have that more of it
        later = rank.start_ns - far[0].start_ns
        drifted = round(far[0].clock_drift_ppm * 1e-6 * later)
        assert abs(rank.clock_offset_ns - far[0].clock_offset_ns - drifted) <= ROUNDED_NS
    assert abs(far[0].clock_offset_ns + APART_NS) <= far[0].clock_error_ns < MOST_NS
    right_ns = RIGHT_NS + far[0].clock_error_ns
    waits = split_operations(trace)
    assert waits.clocks.reason == ""
    last = log[:, :, 0].max(axis=0)
    for position in range(len(trace.ranks)):
        rows = barriers(waits, position)
        wait = waits.need[rows] - waits.pool.enter[rows]
        transfer = waits.pool.exit[rows] - waits.need[rows]
        assert _least(wait - (last - log[position, :, 0])) < right_ns
        assert _least(transfer - (log[position, :, 1] - last)) < right_ns


def _least(errors: npt.NDArray[np.int64]) -> float:
    """What a twentieth of the errors do not exceed.

    Clocks that are wrongly aligned are so in each barrier; a rank that loses its CPU between its
    log and its call is late in that one alone, which on two CPUs may be most.
    """
    return float(np.quantile(np.abs(errors), 0.05))


def set_wall_clock_ahead(directory: Path, seconds: int) -> None:
    """Makes the recordings of a host say that its wall clock showed a later time."""
    for path in directory.glob("*.rec"):
        header = np.memmap(path, HEADER_DTYPE, "r+", shape=(1,))
        header["real0_ns"] += np.uint64(seconds * 10**9)
        header.flush()


@pytest.mark.parametrize(("library", "ranks_per_host"), [("mpich", 2), ("openmpi", 1)])
def test_wait_and_transfer_between_hosts(
    record: Recorder, tmp_path: Path, library: str, ranks_per_host: int
) -> None:
    mpi = environments.mpi(library)
    shell = remote_shell(tmp_path, SHIFTS_S)
    program: list[str | Path] = [PROGRAM, tmp_path, str(ROUNDS)]
    command = on_hosts(mpi, shell, list(SHIFTS_S), ranks_per_host=ranks_per_host, program=program)
    recorded = record(command, variables=mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    log = logged(tmp_path, 2 * ranks_per_host)
    trace = open_recording(recorded.directory)
    check(trace, log)
    analyzed = analyze_trace(trace)
    row = next(row for row in quality(analyzed.results, analyzed.replay) if row.id == "clocks")
    assert "2 different clocks" in row.detail
    assert "not resolvable" not in row.detail
    # nothing of this may rest on wall clocks that happen to be the same
    set_wall_clock_ahead(recorded.directory / "nodeb", 5)
    check(open_recording(recorded.directory), log)
