"""Recorded ranks that are late by turns while others want the CPUs: by their work, or by chance."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perfscope.findings.balance.transient_imbalance import UNEVEN
from perfscope.readers import open_recording
from tests.findings.analyzed import analyze_trace
from tests.support import environments
from tests.support.recording import Recorder

PROGRAM = Path(__file__).parents[2] / "programs" / "unequal_sentences.py"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
BURN = "while True:\n    sum(range(1000))"


@contextmanager
def others() -> Iterator[None]:
    """Processes that take of each CPU what they get."""
    count = len(os.sched_getaffinity(0))
    burning = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        yield
    finally:
        for one in burning:
            one.kill()
            one.wait()


@pytest.mark.parametrize(
    "name",
    [  # the other tests run beside these, and get as little of the CPUs
        pytest.param(name, marks=[pytest.mark.long] if name != "mpich" else [])
        for name in environments.MPI_NAMES
    ],
)
@pytest.mark.parametrize(  # equal work: drawn in test_transient_imbalance.py
    "which", ["unequal", pytest.param("same", marks=pytest.mark.long)]
)
def test_work_is_told_from_waiting_for_cpus(record: Recorder, name: str, which: str) -> None:
    mpi = environments.mpi(name)
    with others():
        recorded = record(
            mpi.python_command(2, PROGRAM, which), variables={**mpi.variables, **ONE_THREAD}
        )
    assert recorded.exit_code == 0, recorded.stderr
    trace = open_recording(recorded.directory)
    for rank in trace.ranks:
        clocks = rank.clock_samples
        assert len(clocks) > 40
        assert (clocks["cpu_ns"][1:] >= clocks["cpu_ns"][:-1]).all()
        assert clocks["cpu_ns"][-1] - clocks["cpu_ns"][0] <= clocks["t"][-1] - clocks["t"][0]
    found = analyze_trace(trace).findings["transient_imbalance"]
    is_own = found.title.startswith(f"{UNEVEN} in encode()")
    assert is_own == (which == "unequal")
    assert found.status.is_fault == is_own
