"""What the agent tells of the files that a program reads."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.jobs import RANK_ZERO, Job

SCRIPT = """
import os, sys, time
from perfscope_agent import pace, read_files
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
read_files._EVERY_NS = 0
table, log, others = [os.path.join(sys.argv[1], name) for name in ('table.bin', 'log.txt', 'other')]
with open(table, "wb") as stream:
    stream.write(bytes(200000))
def looks():
    return read_files._watch._looks if read_files._watch else 0
def goes_on(count):
    until = looks() + count
    while looks() < until:
        yield
kept, written = open(table, "rb"), open(log, "w")
for _ in goes_on(1):
    time.sleep(0.01)
read = 0
for _ in goes_on(4):
    read += len(os.pread(kept.fileno(), 200000, 0))
    written.write("step")
for number in range(3):
    with open("%s-%d" % (others, number), "w+") as other:
        other.write("part")
        other.flush()
        for _ in goes_on(2):
            time.sleep(0.01)
again = open(others, "wb")
for _ in goes_on(2):
    again.write(bytes(1000))
again.flush()
number, reader = again.fileno(), os.open(others, os.O_RDONLY)
os.dup2(reader, number)  # at once: another thread may take a number that is free
os.close(reader)
for _ in goes_on(2):
    read += len(os.read(number, 10))
print(read)
"""


def told(job: Callable[..., Job], folder: Path) -> tuple[dict[str, Any], int]:
    """What was noted of the files, and how much the program says that it has read."""
    done = job(SCRIPT, arguments=(str(folder),), variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    found = done.process.metadata["read_files"]
    assert isinstance(found, dict)
    return found, int(done.stdout)


def test_files_that_are_open_to_read_are_told_with_what_they_hold(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    found, read = told(job, tmp_path)
    files = {one["name"]: one for one in found["files"]}
    assert files["table.bin"]["bytes"] == 200000
    assert files["table.bin"]["looks"] >= 10
    assert "log.txt" not in files  # only written
    assert files["other"]["bytes"] >= 1000  # written first, then read under the same number
    assert {"other-0", "other-1", "other-2"} <= files.keys()
    assert files["other-1"]["looks"] < files["table.bin"]["looks"]
    assert not any(name.endswith((".rec", ".def")) for name in files)  # the recording's own
    assert found["lost"] == 0
    # bytes of Python's own start and of the agent are few beside what the program reads
    assert 0.5 * read <= found["read_bytes"] <= 1.1 * read + (1 << 20)


def test_the_names_of_directories_are_not_noted(job: Callable[..., Job], tmp_path: Path) -> None:
    found, _ = told(job, tmp_path)
    assert str(tmp_path) not in str(found)
    assert sys.executable not in str(found)
