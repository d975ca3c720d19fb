"""Who holds the lock on a file that a process waits for, as the kernel tells it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.jobs import RANK_ZERO, Job

HOLDER = """
import os, sys, time
def hold(lock, seconds):
    ready, told = os.pipe()
    holder = os.fork()
    if holder == 0:
        held = lock()
        os.write(told, b"1")
        time.sleep(seconds)
        os._exit(0)
    os.read(ready, 1)
    return holder
"""
WAYS = {
    "flock": """
import fcntl
def lock():
    stream = open(sys.argv[1], "a+")
    fcntl.flock(stream, fcntl.LOCK_EX)
    return stream
""",
    "fcntl": """
import fcntl
def lock():
    stream = open(sys.argv[1], "a+")
    fcntl.lockf(stream, fcntl.LOCK_EX)
    return stream
""",
    "SQLite": """
import sqlite3
sqlite3.connect(sys.argv[1]).execute("create table t (a)").connection.commit()
def lock():
    base = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
    base.execute("begin exclusive")
    return base
""",
}
WAITS = """
holder = hold(lock, 2.0)
lock()
print(holder)
"""
HOLDS = """
held = lock()
time.sleep(1.0)
"""


@pytest.mark.parametrize("way", WAYS)
def test_who_holds_it_is_told(job: Callable[..., Job], tmp_path: Path, way: str) -> None:
    text = HOLDER + WAYS[way] + WAITS
    done = job(text, arguments=(str(tmp_path / "board"),), variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (rank,) = done.of_role("rank")
    told = rank.metadata["file_locks"]
    ((pid, count),) = told["held_by"]
    assert pid == int(done.stdout)
    assert 0 < count == told["looks"]


def test_nothing_is_told_of_who_waits_for_none(job: Callable[..., Job], tmp_path: Path) -> None:
    text = HOLDER + WAYS["flock"] + HOLDS
    done = job(text, arguments=(str(tmp_path / "board"),), variables=RANK_ZERO)
    (rank,) = done.of_role("rank")
    assert "file_locks" not in rank.metadata
