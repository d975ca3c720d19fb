"""Jobs that end badly: the exit code is the job's own, and what was written before stays."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfscope.readers.registry import open_trace
from perfscope.record.summary import summarize
from tests.findings.analyzed import analyze_trace
from tests.support.environments import Mpi
from tests.support.processes import is_alive, perfscope_started, started
from tests.support.recording import Recorder, run_plain
from tests.support.waiting import wait_for, wait_for_pids

START = """
import os, signal, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(20):
    world.Barrier()
time.sleep(0.1)  # every rank leaves its last barrier before one ends
"""
ENDINGS = {
    "abort": START + "if world.rank == 1: world.Abort(5)\nworld.Barrier()",
    "killed_rank": START + "if world.rank == 1: os.kill(os.getpid(), 9)\nworld.Barrier()",
    "killed_all": START + "os.kill(os.getpid(), 9)",
    "exception": START + "if world.rank == 1: raise RuntimeError('lost')",
    # the launcher ends the other rank: of two that leave, it may see the second one's end first
    "never_finalized": START + "if world.rank == 1: os._exit(0)\ntime.sleep(20)\nos._exit(0)",
}
# Hydra kills the rest, recorded or not. It answers 9 where it collects the one that it has killed
# before it has read both ends of its output, else 0; and where it collects the one that left before
# it has seen the end of its socket, it kills nobody.
OF_HYDRA = {("mpich", "never_finalized"): {0, 9}}
# What a launcher answers to several ranks that die at once depends on which one it sees first.
MOST_PLAIN_RUNS = 5
# Each rank leaves its pid, then waits in a receive that never ends.
WAITING = START + (
    "open(f'pid-{world.rank}', 'w').write(str(os.getpid()))\n"
    "world.recv(source=(world.rank + 1) % world.size)\n"
)


@pytest.mark.parametrize("ending", sorted(ENDINGS))
def test_exit_code_is_that_of_the_same_job_unrecorded(
    mpi: Mpi, ending: str, record: Recorder, tmp_path: Path
) -> None:
    command = mpi.python_command(2, "-c", ENDINGS[ending])
    recorded = record(command, variables=mpi.variables)
    expected = set(OF_HYDRA.get((mpi.name, ending), ()))
    for _ in range(MOST_PLAIN_RUNS):
        if recorded.exit_code in expected:
            break
        plain = run_plain(command, cwd=tmp_path, variables=mpi.variables).returncode
        expected.add(plain if plain >= 0 else 128 - plain)
    assert recorded.exit_code in expected
    assert summarize(recorded.directory).ranks == 2


def child_of(pid: int) -> int:
    """The child of perfscope that runs the job; the witness of signals is a copy of perfscope."""
    task = Path(f"/proc/{pid}/task/{pid}/children")
    own = Path(f"/proc/{pid}/cmdline").read_bytes()
    children = [int(word) for word in task.read_text(encoding="ascii").split()]
    others = [child for child in children if Path(f"/proc/{child}/cmdline").read_bytes() != own]
    assert len(others) == 1
    return others[0]


def end_of(
    command: Sequence[str], victims: str, directory: Path, *, mpi: Mpi, recorded: bool
) -> int:
    """The exit code, as a shell shows it, of a job of which something is killed."""
    directory.mkdir()
    start = perfscope_started if recorded else started
    with start(command, cwd=directory, variables=mpi.variables) as process:
        pids = wait_for_pids(directory, 2)
        launcher = child_of(process.pid) if recorded else process.pid
        for victim in {"rank": pids[1:], "ranks": pids, "mpirun": [launcher]}[victims]:
            os.kill(victim, signal.SIGKILL)
        code = process.wait(timeout=60)
    return code if code >= 0 else 128 - code


@pytest.mark.parametrize("victims", ["rank", "ranks", "mpirun"])
def test_killed_from_outside(mpich: Mpi, victims: str, tmp_path: Path) -> None:
    command = mpich.python_command(2, "-c", WAITING)
    recorded = end_of(command, victims, tmp_path / "recorded", mpi=mpich, recorded=True)
    plain = end_of(command, victims, tmp_path / "plain", mpi=mpich, recorded=False)
    assert recorded == plain
    assert summarize(tmp_path / "recorded" / "trace").ranks == 2


def test_killing_perfscope_leaves_the_job_and_its_recording(mpich: Mpi, tmp_path: Path) -> None:
    job = START + (
        "open(f'pid-{world.rank}', 'w').write(str(os.getpid()))\n"
        "while not os.path.exists('go on'): time.sleep(0.02)\n"
        "world.Barrier()\n"
        "open(f'done-{world.rank}', 'w').write('done')\n"
    )
    command = mpich.python_command(2, "-c", job)
    with perfscope_started(command, cwd=tmp_path, variables=mpich.variables) as process:
        pids = wait_for_pids(tmp_path, 2)
        process.kill()
        process.wait(timeout=60)
        assert all(is_alive(pid) for pid in pids)
        (tmp_path / "go on").touch()
        wait_for("the end of the job", lambda: len(list(tmp_path.glob("done-*"))) == 2)
        wait_for("the ranks to go", lambda: not any(is_alive(pid) for pid in pids))
    run_file = (tmp_path / "trace" / "run.json").read_text(encoding="utf-8")
    assert '"exit_code": null' in run_file
    assert summarize(tmp_path / "trace").ranks == 2


def test_a_job_that_forks(record: Recorder, mpich: Mpi) -> None:
    job = START + (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    time.sleep(0.2)\n"
        "    os._exit(9)\n"
        "assert os.waitpid(pid, 0)[1] >> 8 == 9\n"
        "world.Barrier()\n"
        "print('rank', world.rank, flush=True)\n"
    )
    recorded = record(mpich.python_command(2, "-c", job), variables=mpich.variables)
    assert recorded.exit_code == 0
    assert sorted(recorded.stdout.split("\n")) == ["", "rank 0", "rank 1"]
    assert summarize(recorded.directory).ranks == 2


def test_a_job_that_outlives_its_launcher_does_not_hold_perfscope(
    record: Recorder, tmp_path: Path
) -> None:
    recorded = record(
        ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $! >left_behind; exit 4"], cwd=tmp_path
    )
    assert recorded.exit_code == 4
    left_behind = int((tmp_path / "left_behind").read_text())
    os.kill(left_behind, signal.SIGKILL)  # fails if perfscope had waited for it


LEAVES = """
import sys, time
import perfscope
for step in range(20):
    with perfscope.step():
        time.sleep(0.02)
{end}
"""


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize(
    ("end", "is_whole"),
    [
        ("sys.exit(3)", True),
        ("sys.exit('two tests failed')", True),
        ("raise ValueError", False),
        ("import os; os._exit(3)", False),
        ("sys.exit(143)", False),  # as handlers of SIGTERM do
    ],
)
def test_a_program_that_tells_by_its_exit_code_was_not_cut_short(
    record: Recorder, mpich: Mpi, end: str, is_whole: bool, ranks: int
) -> None:
    program = LEAVES.format(end=end)
    begin = "from mpi4py import MPI" if ranks else ""
    command = ["-c", f"{begin}\n{program}"]
    done = record(
        mpich.python_command(ranks, *command) if ranks else [sys.executable, *command],
        variables=mpich.variables,
    )
    assert done.exit_code != 0
    damage = analyze_trace(open_trace(done.directory)).results.damage
    is_left_open = ranks and end.startswith("sys.exit(143)")  # MPI was finalized, by mpi4py
    assert [one.id for one in damage] == ([] if is_whole or is_left_open else ["endings"])
