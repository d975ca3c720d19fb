"""Horovod's control traffic: told apart by who calls, joined while idle, read for readiness."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.conftest import Once
from tests.native.recorder.decode import Recording
from tests.support.environments import Mpi
from tests.support.requirements import require_tool

READINESS = 8
MAIN = 9
SAMPLE = 5
CYCLES = 14


@pytest.fixture
def recordings(each_abi: Mpi, once: Once, tmp_path: Path) -> list[Recording]:
    """Two ranks that exchange what Horovod's thread does."""
    place = tmp_path / "horovod" / "tensorflow" / "mpi_lib.so"
    place.parent.mkdir(parents=True)
    source = running.JOBS / "mpi_lib.c"
    subprocess.run([require_tool("cc"), "-O0", "-shared", "-fPIC", "-o", place, source], check=True)
    return once(each_abi, 2, "horovod_cycles.py", str(place))


def test_control_is_told_apart_and_joined(recordings: list[Recording]) -> None:
    for recording in recordings:
        control = recording.operations("Horovod_control")
        assert sum(record.request for record in control) == CYCLES
        assert len(control) <= 6
        assert recording.totals["Horovod_control"].count == CYCLES
        assert all(0 < record.received <= record.t1 - record.t0 for record in control)
        assert all(a.t1 <= b.t0 for a, b in pairwise(control))
        # the reduction of tensors, and an allreduce of bits that is not Horovod's
        data = recording.operations("MPI_Allreduce")
        assert [record.sent for record in data] == [400, 8]
        assert [record.seq for record in data] == [13, 15]
        assert {record.tid for record in data} == {record.tid for record in control}


def test_the_thread_of_the_program_is_sampled_and_not_that_of_horovod(
    recordings: list[Recording],
) -> None:
    for recording in recordings:
        horovod = recording.operations("Horovod_control")[0].tid
        sampled = [record.tid for record in recording.of_kind(SAMPLE) if record.op == MAIN]
        assert sampled[-1] == recording.header["pid"] != horovod


def test_readiness_is_when_bits_first_appear(recordings: list[Recording]) -> None:
    told = [
        [(r.sent, r.received, r.request, r.op) for r in recording.of_kind(READINESS)]
        for recording in recordings
    ]
    # arrived here, agreed by all, ready here, whether a new tensor was among them
    assert told[0] == [(2, 0, 2, 0), (0, 2, 2, 0), (1, 0, 0, 1)]
    assert told[1] == [(2, 2, 2, 0)]
    first, agreed = recordings[0].of_kind(READINESS)[:2]
    assert first.t1 <= agreed.t0
