"""2 ranks x 8 OpenMP threads on 2 CPUs: the pool is named, and what is advised is really faster."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.trainer_run import finding
from tests.support.environments import REPOSITORY, Mpi
from tests.support.recording import Recorder, analysis_of, perfscope_command
from tests.support.requirements import require_tool

pytestmark = pytest.mark.long
PROGRAMS = REPOSITORY / "tests" / "programs"
STEPS = "120"


@pytest.fixture
def command(mpich: Mpi, tmp_path: Path) -> list[str]:
    """Two ranks of the program, bound to two CPUs."""
    library = tmp_path / "steps.so"
    source = PROGRAMS / "openmp_steps.c"
    flags = ["-O2", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run([require_tool("cc"), *flags, "-o", library, source], check=True)
    two = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2])
    program = [sys.executable, str(PROGRAMS / "openmp_trainer.py"), str(library), STEPS]
    return [str(require_tool("taskset")), "-c", two, *map(str, mpich.command(2)), *program]


def test_the_advised_setting_is_faster_and_silent(
    command: list[str], record: Recorder, tmp_path: Path
) -> None:
    crowded = record(command, variables={"OMP_NUM_THREADS": "8"})
    assert crowded.exit_code == 0, crowded.stderr
    found = finding(analysis_of(crowded.directory), "threads_over_cores")
    assert found["status"] == "fail"
    evidence = {row["label"]: str(row["value"]) for row in found["evidence"]}
    assert evidence["Largest pool"].startswith("OpenMP (libgomp")
    assert "8 threads in each rank" in evidence["Largest pool"]
    assert found["gain_basis"] == "upper_bound"
    assert found["actions"][0] == "Start with `export OMP_NUM_THREADS=1` for 2 ranks on 2 CPUs."

    advised = record(command, variables={"OMP_NUM_THREADS": "1"}, output=tmp_path / "advised-run")
    assert float(advised.stdout) < 0.8 * float(crowded.stdout)
    cured = finding(analysis_of(advised.directory), "threads_over_cores")
    assert cured["status"] in {"pass", "info"}

    check_sweep(found["actions"], command, tmp_path)


def check_sweep(actions: list[str], command: list[str], place: Path) -> None:
    """The sweep that is offered is understood as it stands, and holds the recorded command."""
    [text] = [action for action in actions if "perfscope sweep" in action]
    words = shlex.split(text[text.index("perfscope sweep") :].rstrip("`"))
    assert words[2:4] == ["--env", "OMP_NUM_THREADS=1,2,4,8"]
    assert words[words.index("--") + 1 :] == command
    dry = perfscope_command(*words[1:2], "--dry-run", *words[2:])
    done = subprocess.run(dry, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"OMP_NUM_THREADS={count}" in done.stdout for count in (1, 2, 4, 8))
