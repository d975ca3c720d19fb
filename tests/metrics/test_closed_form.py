"""Programs with known efficiencies: the formula applied to their calls, against the metrics."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.readers import open_recording
from perfscope.trace.model import Rank, Trace
from tests.support.environments import MPI_NAMES, Mpi, mpi
from tests.support.recording import Recorder
from tests.support.trace_invariants import check_trace

PROGRAM = Path(__file__).parents[1] / "programs" / "closed_form.py"
TOLERANCE = 1e-6
LARGEST_GAP_NS = 5_000_000


def calls(rank: Rank) -> list[tuple[int, int]]:
    """Begin and end of the calls of the main thread, from MPI_Init to MPI_Finalize."""
    own = rank.operations[rank.operations["tid"] == rank.main_tid]
    return [(int(t0), int(t1)) for t0, t1 in zip(own["t0"], own["t1"], strict=True)]


def check_clock(directory: Path, trace: Trace) -> None:
    """Each recorded call lies between the moments that the program notes around it.

    The two clocks differ by one number for all calls of all ranks. However long a rank has no CPU
    between a call and the program's own look at the clock, some pair of them lies close together.
    """
    least, most = [], []
    for rank in trace.ranks:
        work = json.loads((directory / f"rank{rank.number}.json").read_text())["work_ns"]
        around = [(before[1], after[0]) for before, after in pairwise(work)]
        for (begin, end), (t0, t1) in zip(around, calls(rank)[1:-1], strict=True):
            least.append(begin - t0)
            most.append(end - t1)
    assert 0 <= min(most) - max(least) < LARGEST_GAP_NS


def expected(trace: Trace) -> dict[str, float]:
    """PE, LB and CommE from the calls, by their definition."""
    of_ranks = [calls(rank) for rank in trace.ranks]
    start = max(own[0][1] for own in of_ranks)
    finish = max(own[-1][0] for own in of_ranks)
    work = [
        sum(max(0, after[0] - max(before[1], start)) for before, after in pairwise(own))
        for own in of_ranks
    ]
    length = finish - start
    return {
        "parallel_efficiency": sum(work) / (len(work) * length),
        "load_balance": sum(work) / len(work) / max(work),
        "communication_efficiency": max(work) / length,
    }


def measure(
    record: Recorder, library: Mpi, tmp_path: Path, program: str, ranks: int
) -> tuple[Results, dict[str, float]]:
    """Records a program; returns its metrics and what they should be."""
    command = library.python_command(ranks, PROGRAM, program, tmp_path)
    recorded = record(command, variables=library.variables)
    assert recorded.exit_code == 0, recorded.stderr
    trace = open_recording(recorded.directory)
    check_trace(trace)
    assert len(trace.ranks) == trace.world_size == ranks
    check_clock(tmp_path, trace)
    results = compute(trace)
    ledger = results.ledger
    np.testing.assert_array_equal(ledger.ns.sum(axis=0), ledger.life_ns)
    assert results.communication.unmatched == {}
    return results, expected(trace)


PROGRAMS = [
    ("mpich", "barriers", 2),
    pytest.param("mpich", "barriers", 8, marks=pytest.mark.long),
    ("mpich", "reductions", 4),
    ("mpich", "ring", 4),
    *((name, "sub_communicators", 4) for name in MPI_NAMES),
    ("mpich", "blocking_receive", 2),
    *(
        pytest.param(name, "blocking_receive", 2, marks=pytest.mark.long)
        for name in MPI_NAMES
        if name != "mpich"
    ),
]


@pytest.mark.parametrize(("name", "program", "ranks"), PROGRAMS)
def test_efficiencies_of_programs_with_known_answers(
    record: Recorder, tmp_path: Path, name: str, program: str, ranks: int
) -> None:
    results, wanted = measure(record, mpi(name), tmp_path, program, ranks)
    for efficiency, value in wanted.items():
        measured = getattr(results.efficiency, efficiency).value
        assert measured == pytest.approx(value, abs=TOLERANCE), efficiency
