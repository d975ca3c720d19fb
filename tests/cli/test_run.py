"""`perfscope run`: what its options do, and what it says."""

import sys
from pathlib import Path

import pytest

from perfscope.record.places import agent_directory
from tests.support.environments import Mpi
from tests.support.recording import Recorder

SECRET = "hunter2"


def test_options_stand_in_the_run_file(record: Recorder) -> None:
    recorded = record(["true"], options=["--max-size", "2M", "--sample-hz", "5", "--stack-hz", "0"])
    assert recorded.run_file["options"] == {
        "max_size_bytes": 2 << 20,
        "sample_hz": 5,
        "stack_hz": 0,
        "gpu_hz": 2,
    }


def test_run_file_says_what_ran(record: Recorder, tmp_path: Path) -> None:
    facts = record([sys.executable, "-c", "pass"], variables={"OMP_NUM_THREADS": "3"}).run_file
    assert facts["schema"] == 1
    assert facts["command"] == [sys.executable, "-c", "pass"]
    assert facts["cwd"] == str(tmp_path)
    assert facts["launcher"] == {"kind": "direct"}
    assert facts["environment"]["OMP_NUM_THREADS"] == "3"
    assert facts["topology"]["cpus"] >= 1
    assert 0 < facts["end_mono_ns"] - facts["start_mono_ns"] < 60e9


def test_secrets_of_the_command_line_are_not_written(record: Recorder) -> None:
    recorded = record(["true", "--api-key", SECRET, f"--password={SECRET}"])
    text = (recorded.directory / "run.json").read_text(encoding="utf-8")
    assert SECRET not in text
    assert recorded.run_file["command"][1] == "--api-key"


def test_it_says_where_it_records_and_what_to_do_next(record: Recorder, mpich: Mpi) -> None:
    code = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    recorded = record(mpich.python_command(2, "-c", code))
    first, last = recorded.stderr.splitlines()
    assert first == "perfscope: recording to trace/"
    assert last.startswith("perfscope: recorded 2 ranks in trace/ (")
    assert last.endswith("; next: perfscope analyze trace/")


def test_it_says_when_nothing_was_recorded(record: Recorder) -> None:
    recorded = record(["env", "-i", sys.executable, "-c", "pass"])
    assert recorded.exit_code == 0
    assert "perfscope: nothing was recorded in trace/" in recorded.stderr


@pytest.mark.parametrize("how", [["PYTHONPATH=src"], ["-u", "PYTHONPATH"], ["PYTHONPATH="]])
def test_a_script_that_sets_pythonpath_anew_keeps_the_agent(
    record: Recorder, how: list[str]
) -> None:
    """What it sets comes first, and what is no Python sees the variable as it was set."""
    shows = "import os, sys; print(os.environ['PYTHONPATH'].split(':'), sys.argv[1:])"
    shell = f'exec {sys.executable} -c "{shows}" "$PYTHONPATH"'
    recorded = record(["env", *how, "sh", "-c", shell])
    assert recorded.exit_code == 0
    assert "recorded 1 process" in recorded.stderr
    given = "src" if how == ["PYTHONPATH=src"] else ""
    seen = [*filter(None, [given]), str(agent_directory())]
    assert recorded.stdout == f"{seen} {[given]}\n"


def test_it_says_which_options_of_python_keep_the_agent_out(record: Recorder) -> None:
    recorded = record([sys.executable, "-I", "-c", "pass"])
    assert recorded.exit_code == 0
    assert "a Python that was started with -E, -I or -S" in recorded.stderr


def test_it_says_why_a_python_could_not_be_recorded(record: Recorder, tmp_path: Path) -> None:
    (tmp_path / "_ctypes.py").write_text("raise ImportError('no _ctypes here')")
    variables = {"PYTHONPATH": str(tmp_path)}
    recorded = record([sys.executable, "-c", "print('runs')"], variables=variables)
    assert recorded.exit_code == 0
    assert "perfscope: nothing was recorded in trace/" in recorded.stderr
    assert "no `ctypes` in this Python (no _ctypes here)" in recorded.stderr
    assert "LD_PRELOAD" not in recorded.stderr


def test_an_empty_directory_is_refused(record: Recorder, tmp_path: Path) -> None:
    recorded = record(["true"], options=["--output", ""])
    assert recorded.exit_code == 2
    assert "Invalid value for '--output' / '-o': the path is empty" in recorded.stderr
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}-*"))  # which "." would be numbered as


def test_what_to_do_next_can_be_pasted(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", "pass"], options=["--output", "mit Leer & ü"])
    last = recorded.stderr.splitlines()[-1]
    assert last.endswith("; next: perfscope analyze 'mit Leer & ü/'")


@pytest.mark.parametrize("size", ["0", "12", "x"])
def test_a_size_that_makes_no_sense_is_refused(record: Recorder, size: str) -> None:
    recorded = record(["true"], options=["--max-size", size])
    assert recorded.exit_code == 2
    assert "--max-size" in recorded.stderr
