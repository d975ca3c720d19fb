"""`--steps A:B` leaves calls of other steps out, `--stop-after N` ends the job on request."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from perfscope.readers.registry import open_trace
from perfscope.schema.enums import EndKind
from tests.support.environments import Environment, Mpi
from tests.support.recording import (
    JOB_TIMEOUT_S,
    Recorder,
    analyze,
    job_variables,
    perfscope_command,
)
from tests.support.waiting import wait_for

LOOP = """
import sys, time
from mpi4py import MPI
from perfscope_agent import marker
world = MPI.COMM_WORLD
for step in range(int(sys.argv[1])):
    marker.step(samples=4)
    for _ in range(3):
        world.Barrier()
    time.sleep(float(sys.argv[2]))
marker.metric("done", 1)
"""
BARRIER = 50
TORCH = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    optimizer.zero_grad()
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()
"""


def test_only_the_steps_asked_for_are_recorded_call_by_call(record: Recorder, mpich: Mpi) -> None:
    command = mpich.python_command(2, "-c", LOOP, "20", "0.01")
    recorded = record(command, options=["--steps", "5:9"], variables=mpich.variables)
    assert recorded.exit_code == 0
    trace = open_trace(recorded.directory)
    for rank in trace.ranks:
        calls = rank.operations[rank.operations["op"] == BARRIER]
        assert len(calls) == 4 * 3
        wanted = rank.steps[(rank.steps["number"] >= 5) & (rank.steps["number"] < 9)]
        assert calls["t0"].min() >= wanted["t0"].min()
        assert calls["t1"].max() <= wanted["t1"].max()
        assert len(rank.steps) == 20
        assert rank.totals[BARRIER][0] == 60
        assert rank.dropped_records == 0
    analyze(recorded.directory, "--no-report")
    document = json.loads((recorded.directory / "analysis.json").read_text(encoding="utf-8"))
    assert document["run"]["focus_kind"] == "steps 5:9"
    assert document["steps"]["numbers"] == [5, 6, 7, 8]


def test_the_job_ends_after_the_step_and_that_is_no_failure(record: Recorder, mpi: Mpi) -> None:
    command = mpi.python_command(2, "-c", LOOP, "100000", "0.01")
    recorded = record(command, options=["--stop-after", "12"], variables=mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    assert "rank 0 has recorded step 12" in recorded.stderr
    facts = recorded.run_file
    assert facts["notes"][-1] == "stopped on request after step 12"
    assert (facts["exit_code"], facts["stopped"]["after_step"]) == (0, 12)
    assert facts["stopped"]["exit_code"] != 0
    trace = open_trace(recorded.directory)
    assert [rank.ending.kind for rank in trace.ranks] == [EndKind.STOPPED] * 2
    assert min(len(rank.steps) for rank in trace.ranks) >= 13
    assert all(rank.ending.is_natural for rank in trace.ranks)
    done = analyze(recorded.directory, "--strict", "--no-report")
    assert done.returncode == 0, done.stderr


def test_a_script_and_all_that_it_started_end(mpich: Mpi, tmp_path: Path) -> None:
    words = mpich.python_command(2, tmp_path / "loop.py", "100000", "0.01")
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")
    (tmp_path / "job.sh").write_text(f"{' '.join(words)}\ntouch next\n", encoding="utf-8")
    options = ("--output", tmp_path / "trace", "--stop-after", "5")
    done = subprocess.run(
        perfscope_command("run", *options, "--", "bash", tmp_path / "job.sh"),
        cwd=tmp_path,
        env=job_variables(mpich.variables),
        capture_output=True,
        text=True,
        timeout=JOB_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "next").exists()
    wait_for("the ranks, which are killed, to go", lambda: not running(tmp_path / "loop.py"))


def running(script: Path) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if str(script) in (one.info["cmdline"] or [])]


def test_a_job_that_ends_before_keeps_its_exit_code(record: Recorder, mpich: Mpi) -> None:
    program = LOOP + "sys.exit(3)"
    command = mpich.python_command(2, "-c", program, "3", "0")
    recorded = record(command, options=["--stop-after", "9"], variables=mpich.variables)
    assert recorded.exit_code == 3
    assert recorded.run_file["stopped"] is None


@pytest.mark.long
def test_steps_of_a_framework_stop_a_program_without_ranks(
    environment: Callable[[str], Environment], record: Recorder
) -> None:
    recorded = record([environment("torch").python, "-c", TORCH], options=["--stop-after", "30"])
    assert recorded.exit_code == 0, recorded.stderr
    [rank] = open_trace(recorded.directory).ranks
    assert rank.ending.kind is EndKind.STOPPED
    assert len(rank.steps) > 30


@pytest.mark.parametrize("text", ["5", "9:5", "5:5", "a:b", ":", "-1:3"])
def test_ranges_that_make_no_sense_are_refused(record: Recorder, text: str) -> None:
    assert record(["true"], options=[f"--steps={text}"]).exit_code == 2
