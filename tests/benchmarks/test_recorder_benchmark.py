"""The benchmark of the recorder: every measurement has an end, and its tables say what was run."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.recorder import bounded, jobs, measures
from benchmarks.recorder.tables import jobs_table
from perfscope.record.places import recorder_library
from tests.support.processes import with_argument
from tests.support.waiting import wait_for


def test_a_command_without_end_is_killed_with_what_it_started() -> None:
    lasts_s = f"300.{os.getpid()}"  # by which what it started is found
    script = f"sleep {lasts_s} & wait"
    with pytest.raises(bounded.MeasurementError, match="no end after 1 s"):
        bounded.run(["bash", "-c", script], {}, longest_s=1.0)
    wait_for("its end", lambda: not with_argument(lasts_s))


def test_cpu_time_counts_what_a_command_started() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    done = bounded.run(["bash", "-c", f"{sys.executable} -c '{burn}'; true"], {})
    assert done.cpu_s >= 0.29


def test_a_job_is_run_in_pairs_and_shown() -> None:
    [job] = jobs.compare(budget_s=0.0, shorter=32, only="mpi4py")
    assert job.reason is None
    assert (len(job.pairs), job.steps) == (1, job.workload.steps // 32)
    bare, recorded = job.pairs[0]
    assert 0 < bare.training_wall_s < bare.job_wall_s
    assert recorded.job_cpu_s > recorded.training_cpu_s > 0
    row = jobs_table([job]).splitlines()[-1]
    assert row.startswith("| mpi4py trainer | 1 | ")


def test_a_job_without_its_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFSCOPE_ENV_TORCH", "/nowhere")
    [job] = jobs.compare(budget_s=0.0, only="DDP")
    assert job.reason == "no environment torch"
    assert "not measured: no environment torch" in jobs_table([job])


def test_the_calls_that_are_measured_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = recorder_library()
    assert library is not None
    monkeypatch.setattr(measures, "BURSTS", 5)
    costs = measures.calls(measures.Setting(tmp_path, 1, Path(sys.prefix), library))
    assert {"MPI_Barrier", "MPI_Test, flood"} <= {cost.name for cost in costs}
