"""Programs with known efficiencies: the formula applied to their logs, against the recording."""

import json
from pathlib import Path

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.readers import open_recording
from tests.support.environments import Mpi
from tests.support.recording import Recorder
from tests.support.trace_invariants import check_trace

PROGRAM = Path(__file__).parents[1] / "programs" / "closed_form.py"
TOLERANCE = 0.02


def expected(directory: Path, ranks: int) -> dict[str, float]:
    """PE, LB and CommE from the logs, by their definition."""
    logs = [json.loads((directory / f"rank{rank}.json").read_text()) for rank in range(ranks)]
    start = max(log["start_ns"] for log in logs)
    finish = max(log["finish_ns"] for log in logs)
    work = [
        sum(max(0, min(end, finish) - max(begin, start)) for begin, end in log["work_ns"])
        for log in logs
    ]
    length = finish - start
    return {
        "parallel_efficiency": sum(work) / (ranks * length),
        "load_balance": sum(work) / ranks / max(work),
        "communication_efficiency": max(work) / length,
    }


def measure(
    record: Recorder, mpi: Mpi, tmp_path: Path, program: str, ranks: int
) -> tuple[Results, dict[str, float]]:
    """Records a program; returns its metrics and what they should be."""
    command = mpi.python_command(ranks, PROGRAM, program, tmp_path)
    recorded = record(command, variables=mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    trace = open_recording(recorded.directory)
    check_trace(trace)
    assert len(trace.ranks) == trace.world_size == ranks
    results = compute(trace)
    ledger = results.ledger
    np.testing.assert_array_equal(ledger.ns.sum(axis=0), ledger.life_ns)
    assert results.communication.unmatched == {}
    return results, expected(tmp_path, ranks)


@pytest.mark.parametrize(
    ("program", "ranks"),
    [
        ("barriers", 2),
        pytest.param("barriers", 8, marks=pytest.mark.long),
        ("reductions", 4),
        ("ring", 4),
        ("sub_communicators", 4),
        ("blocking_receive", 2),
    ],
)
def test_efficiencies_of_programs_with_known_answers(
    record: Recorder, mpi: Mpi, tmp_path: Path, program: str, ranks: int
) -> None:
    results, wanted = measure(record, mpi, tmp_path, program, ranks)
    for name, value in wanted.items():
        measured = getattr(results.efficiency, name).value
        assert measured == pytest.approx(value, abs=TOLERANCE), name
    if program == "blocking_receive":
        assert results.efficiency.parallel_efficiency.value == pytest.approx(0.625, abs=TOLERANCE)
        assert results.efficiency.communication_efficiency.value == pytest.approx(
            0.75, abs=TOLERANCE
        )
        assert results.efficiency.load_balance.value == pytest.approx(0.833, abs=TOLERANCE)
