"""Ranks are told from their workers, from launchers and from programs without ranks."""

from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent import roles
from tests.agent.jobs import RANK_ZERO, Job

FORK = """
import atexit, os, sys
from perfscope_agent import marker
marker.step(samples=1)
atexit.register(lambda: print("bye", flush=True))
child = os.fork()
if child == 0:
    with marker.phase("in the child"):
        marker.step(samples=2)
    sys.exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
POOL = """
import multiprocessing, os
def square(x):
    return x * x
def begin(barrier):
    barrier.wait(60)  # no worker is over before the other one has begun
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with context.Pool(2, begin, (context.Barrier(2),)) as pool:
        print(pool.map(square, range(4)))
"""
CHILD = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "print('child')"], check=True)
"""
RENUMBERING = """
import os, subprocess, sys
for rank in "01":
    variables = dict(os.environ, RANK=rank, WORLD_SIZE="2")
    subprocess.run([sys.executable, "-c", "print('rank')"], check=True, env=variables)
"""


def test_process_with_a_rank_environment_is_a_rank(job: Callable[..., Job]) -> None:
    process = job("", variables={"PMI_RANK": "3", "PMI_SIZE": "4"}).process
    assert process.role == "rank"
    assert process.metadata["rank_environment"] == {"PMI_RANK": "3", "PMI_SIZE": "4"}
    assert process.recording is not None
    assert (process.recording.header["rank"], process.recording.header["size"]) == (3, 4)


def test_process_without_one_is_unranked_and_recorded(job: Callable[..., Job]) -> None:
    process = job("").process
    assert process.role == "unranked"
    assert process.recording is not None
    assert process.recording.header["rank"] == -1


def test_forked_child_is_a_worker_that_writes_no_records(job: Callable[..., Job]) -> None:
    done = job(FORK, variables=RANK_ZERO)
    assert done.exit_code == 0
    assert done.stdout == b"bye\n4\nbye\n"
    (parent,) = done.of_role("rank")
    (child,) = done.of_role("worker")
    assert child.metadata["owner_pid"] == parent.metadata["pid"]
    assert child.recording is None
    assert parent.phases() == []
    assert [step.sent for step in parent.steps()] == [1]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("variables", [RANK_ZERO, {}])
def test_multiprocessing_workers_are_not_ranks(
    job: Callable[..., Job], method: str, variables: dict[str, str]
) -> None:
    done = job(POOL.format(method=method), variables=variables)
    assert (done.stdout, done.stderr) == (b"[0, 1, 4, 9]\n", b"")
    others = [process for process in done.processes if process.role != "worker"]
    (owner,) = [process for process in others if process.recording is not None]
    assert others == [owner]
    assert len(done.of_role("worker")) >= 2
    if method == "fork":
        pids = {worker.metadata["owner_pid"] for worker in done.of_role("worker")}
        assert pids == {owner.metadata["pid"]}


def test_subprocess_of_a_rank_is_its_worker(job: Callable[..., Job]) -> None:
    done = job(CHILD, variables=RANK_ZERO)
    (rank,) = done.of_role("rank")
    (worker,) = done.of_role("worker")
    assert worker.metadata["owner_pid"] == rank.metadata["pid"]
    assert worker.recording is None


def test_children_with_ranks_of_their_own_are_ranks(job: Callable[..., Job]) -> None:
    done = job(RENUMBERING)
    numbers = [p.recording.rank for p in done.of_role("rank") if p.recording is not None]
    assert sorted(numbers) == [0, 1]
    assert len(done.of_role("unranked")) == 1


def test_launcher_writes_no_records(job: Callable[..., Job]) -> None:
    done = job(RENUMBERING, name="torchrun")
    (launcher,) = done.of_role("unranked")
    assert launcher.recording is None
    assert len(done.of_role("rank")) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["python", "train.py", "-m", "x"], ("script", "train.py")),
        (["python", "-u", "-W", "ignore", "-X", "dev", "-m", "pip", "list"], ("module", "pip")),
        (["python", "-um", "torch.distributed.run"], ("module", "torch.distributed.run")),
        (["python", "-mpip"], ("module", "pip")),
        (["python", "-cprint()"], ("code", "print()")),
        (["python", "-Wignore", "-c", "x"], ("code", "x")),
        (["python", "-"], ("script", "-")),
        (["python"], ("", "")),
    ],
)
def test_program_is_read_from_the_command_line(
    arguments: list[str], expected: tuple[str, str]
) -> None:
    assert roles.program(arguments) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}, (2, 4)),
        ({"PMI_RANK": "1", "PMI_SIZE": "8", "SLURM_PROCID": "0"}, (1, 8)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6"}, (5, 6)),
        ({"PMIX_RANK": "3"}, (3, -1)),
        (
            {"PMI_RANK": "1", "PMI_SIZE": "2", "RANK": "9", "WORLD_SIZE": "16"}
            | {"TORCHELASTIC_RUN_ID": "a"},
            (9, 16),
        ),
        ({"RANK": "none"}, (-1, -1)),
    ],
)
def test_rank_and_size_are_what_the_launcher_says(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: tuple[int, int]
) -> None:
    for name in roles.RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert roles.rank_and_size() == expected
