"""Files read by the workers of a real Dask cluster on this machine."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfscope.dask import scheduler
from tests.support.environments import REPOSITORY, Environment
from tests.support.recording import analyze, perfscope_command, run_with
from tests.support.write_kineto import small

# The first process that reads the second file is killed, as by a node that dies.
LOSING = """
import os, signal, sys
from pathlib import Path
from perfscope.dask.scheduler import reading_on
from perfscope.readers.common.spread import attempts

here = Path(sys.argv[1])

def read(path):
    mark = here / 'killed'
    if path.name == 'b' and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.read_text(), os.getpid()

if __name__ == '__main__':
    with reading_on('local:2'):
        found = attempts([here / name for name in 'abcd'], read)
    assert (here / 'killed').exists()
    assert os.getpid() not in {process for _, process in found}
    print(''.join(text for text, _ in found))
"""

INSTALLS = "pip install 'perfscope-hpc[cluster]'"
IMPATIENT = """
import sys
from perfscope.cli.main import main
from perfscope.dask import scheduler
scheduler.CONNECT_S = 1.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def dask(environment: Callable[[str], Environment]) -> Environment:
    return environment("integrations")


def test_the_result_is_the_same_to_the_byte(tmp_path: Path, dask: Environment) -> None:
    for number in range(2):
        small(number, 2).write(tmp_path / f"rank{number}.pt.trace.json")
    (tmp_path / "cut.pt.trace.json").write_text('{"traceEvents": [')
    results = []
    for options in ([], ["--scheduler", "local:2"]):
        words = ["analyze", ".", "--no-strict", "--json", "--no-report", *options]
        done = run_with(perfscope_command(*words), tmp_path, dask)
        assert done.returncode == 0, done.stderr
        assert "nothing to do" not in done.stderr
        results.append((done.stdout, (tmp_path / "analysis.json").read_bytes()))
    assert "Reading on 2 workers of local:2" in done.stderr
    assert results[0] == results[1]


def test_that_workers_have_nothing_to_read_is_told(tmp_path: Path, dask: Environment) -> None:
    sample = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
    documents = []
    for scheduled in (False, True):
        options = ["--no-report", "-o", str(tmp_path / "found")]
        if scheduled:
            command = perfscope_command("analyze", sample, *options, "--scheduler", "local:1")
            done = run_with(command, tmp_path, dask)
        else:
            done = analyze(sample, *options)
        assert done.returncode == 0, done.stderr
        documents.append((tmp_path / "found" / "analysis.json").read_bytes())
    assert done.stderr.splitlines()[-1] == (
        "The workers had nothing to do: files of this format are read here."
    )
    assert documents[0] == documents[1]


def test_a_lost_worker_is_made_good(tmp_path: Path, dask: Environment) -> None:
    for name in "abcd":
        (tmp_path / name).write_text(name)
    (tmp_path / "losing.py").write_text(LOSING)
    done = run_with([sys.executable, "losing.py", str(tmp_path)], tmp_path, dask)
    assert (done.returncode, done.stdout) == (0, "abcd\n"), done.stderr


@pytest.mark.parametrize(
    ("scheduler", "code", "what"),
    [
        ("local:0", 2, "--scheduler 'local:0' is not understood."),
        ("slurm", 2, "--scheduler slurm finds no Slurm here."),
        ("tcp://127.0.0.1:9", 3, "No Dask scheduler answers at tcp://127.0.0.1:9."),
    ],
)
def test_what_cannot_be_is_said_in_three_lines(
    scheduler: str, code: int, what: str, tmp_path: Path, dask: Environment
) -> None:
    small().write(tmp_path / "rank0.pt.trace.json")
    command = [sys.executable, "-c", IMPATIENT, "analyze", ".", "--scheduler", scheduler]
    done = run_with(
        command, tmp_path, dask, {"PATH": str(tmp_path)}
    )  # a Slurm of this machine is away
    lines = done.stderr.splitlines()
    assert (done.returncode, lines[0], len(lines)) == (code, what, 3)


def test_a_job_that_slurm_refuses_is_said_in_three_lines(tmp_path: Path, dask: Environment) -> None:
    small().write(tmp_path / "rank0.pt.trace.json")
    why = "sbatch: error: Batch job submission failed: Invalid account"
    refusing = tmp_path / "bin" / "sbatch"  # stands for a Slurm that has no account for the user
    refusing.parent.mkdir()
    refusing.write_text(f"#!/bin/sh\necho '{why}' >&2\nexit 1\n")
    refusing.chmod(0o755)
    more = {
        "PATH": f"{refusing.parent}{os.pathsep}{os.environ['PATH']}",
        "DASK_JOBQUEUE__SLURM__CORES": "1",
        "DASK_JOBQUEUE__SLURM__MEMORY": "1GB",
    }
    done = run_with(perfscope_command("analyze", ".", "--scheduler", "slurm"), tmp_path, dask, more)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (3, 3), done.stderr
    assert lines[:2] == ["No jobs could be started under Slurm.", f"{why}."]


def test_a_worker_that_is_late_is_waited_for_where_timeouts_are_those_of_asyncio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class LateError(Exception):
        """Stands for the TimeoutError of Dask below Python 3.11, which is not Python's own."""

    class Client:
        """Stands for a client whose only worker comes at the third look."""

        looks = 0

        def wait_for_workers(self, count: int, timeout: float) -> None:
            self.looks += 1
            if self.looks < 3:
                raise LateError(count, timeout)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(TimeoutError=LateError))
    client = Client()
    scheduler._wait_for_a_worker(client, ())
    assert client.looks == 3


def test_without_dask_jobqueue_the_command_that_installs_it_is_told(
    tmp_path: Path, dask: Environment
) -> None:
    small().write(tmp_path / "rank0.pt.trace.json")
    # stands for a missing package: it comes before the one that is installed
    why = "No module named 'dask_jobqueue'"
    (tmp_path / "dask_jobqueue.py").write_text(f'raise ModuleNotFoundError("{why}")')
    command = [sys.executable, "-m", "perfscope", "analyze", ".", "--scheduler", "slurm"]
    done = run_with(command, tmp_path, dask)
    lines = ["--scheduler needs dask-jobqueue, which is not installed.", f"{why}."]
    assert (done.returncode, done.stderr.splitlines()) == (2, [*lines, INSTALLS])


def test_without_dask_the_command_that_installs_it_is_told(tmp_path: Path) -> None:
    small().write(tmp_path / "rank0.pt.trace.json")
    done = run_with(perfscope_command("analyze", ".", "--scheduler", "local:2"), tmp_path, None)
    assert done.returncode == 2
    assert done.stderr.splitlines()[2] == INSTALLS
