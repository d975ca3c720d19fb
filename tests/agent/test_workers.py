"""Processes that work for a rank: what they do is recorded beside it, and disturbs nothing."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.agent.jobs import RANK_ZERO, Job, Process

POOL = """
import multiprocessing, sys, time

def begin(shared):
    global barrier
    barrier = shared

def decode(seconds):
    barrier.wait()  # for the other worker, which has as much to do
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))
    return 1

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2, begin, (context.Barrier(2),)) as pool:
        print(sum(pool.imap_unordered(decode, [0.4] * 4)))
"""
ENDS = """
import multiprocessing, os, signal, sys, time

def work():
    end = time.process_time() + 1.0
    while time.process_time() < end:
        sum(range(2000))

def main():
    work()
    {end}

child = multiprocessing.get_context("fork").Process(target=main)
child.start()
child.join()
assert child.exitcode == {status}
"""
OTHER_PROGRAM = """
import subprocess, sys
program = '''
import time
def pack():
    end = time.process_time() + 0.8
    while time.process_time() < end:
        sum(range(2000))
pack()
'''
subprocess.run([sys.executable, "-c", program], check=True)
"""
SHORT = """
import os
for _ in range(5):
    assert os.waitpid(os.fork() or os._exit(0), 0)[1] == 0
"""
THREADS = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(0.5)
    os._exit(len(os.listdir("/proc/self/task")) - 1)  # it may do what needs a single thread
assert os.waitpid(child, 0)[1] == 0
"""


def _functions(worker: Process) -> Counter[str]:
    """The functions of the program that a process was seen in, by how often."""
    return Counter(
        name
        for stack in worker.functions()
        for name in {function for function, file, _ in stack if "/lib/python" not in file}
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_tell_what_they_do(job: Callable[..., Job], method: str) -> None:
    done = job(POOL, arguments=(method,), variables=RANK_ZERO)
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"4\n", b"")
    workers = [one for one in done.of_role("worker") if one.recording is not None]
    assert len(workers) == 2
    for worker in workers:
        functions = _functions(worker)
        assert functions["decode"] > 0
        assert "<module>" not in functions or method != "fork", "what the parent was in is not told"


@pytest.mark.parametrize(
    ("end", "status"),
    [("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -9), ("sys.exit(3)", 3)],
)
def test_however_a_worker_ends_it_leaves_what_was_seen(
    job: Callable[..., Job], end: str, status: int
) -> None:
    done = job(ENDS.format(end=end, status=status), variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (worker,) = done.of_role("worker")
    assert _functions(worker)["work"] > 0


def test_a_program_that_a_rank_starts_is_seen(job: Callable[..., Job]) -> None:
    done = job(OTHER_PROGRAM, variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (worker,) = done.of_role("worker")
    assert _functions(worker)["pack"] > 0
    assert worker.metadata["stack_sampler"]["samples"] > 0


def test_what_lives_for_a_moment_leaves_no_records(job: Callable[..., Job]) -> None:
    done = job(SHORT, variables=RANK_ZERO)
    assert done.exit_code == 0
    workers = done.of_role("worker")
    assert len(workers) == 5
    assert all(worker.recording is None for worker in workers)


def test_no_stacks_are_sampled_where_none_are_wanted(job: Callable[..., Job]) -> None:
    done = job(POOL, arguments=("fork",), variables={**RANK_ZERO, "PERFSCOPE_STACK_HZ": "0"})
    assert done.stdout == b"4\n"
    assert all(worker.recording is None for worker in done.of_role("worker"))


def test_a_program_counts_its_own_threads_alone(job: Callable[..., Job]) -> None:
    assert job(THREADS, variables=RANK_ZERO).exit_code == 0


def test_records_of_a_worker_take_a_small_part_of_the_space(job: Callable[..., Job]) -> None:
    limit = 1 << 26
    done = job(
        POOL, arguments=("fork",), variables={**RANK_ZERO, "PERFSCOPE_MAX_BYTES": str(limit)}
    )
    (rank,) = done.of_role("rank")
    assert rank.recording is not None
    whole = int(rank.recording.header["capacity"])
    for worker in done.of_role("worker"):
        assert worker.recording is not None
        assert int(worker.recording.header["capacity"]) < whole / 8
