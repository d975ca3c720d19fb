"""Forked children leave the recording to their parent, and copy few of its pages."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job

CHILDREN = """
import os, resource, time
from statistics import median

def pages_written():
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, b"%d" % resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writes)
    with os.fdopen(reads) as stream:
        return int(stream.read())

end = time.monotonic() + 0.5
while time.monotonic() < end:
    sum(range(1000))  # seen by samples, whose places are kept
for _ in range(70):  # the first ones are noted each
    pages_written()
print(median(pages_written() for _ in range(20)))
"""
OF_PARENT = """
import json, os, time
from perfscope_agent import metadata, recorder, stacks
end = time.monotonic() + 0.5
while time.monotonic() < end:
    sum(range(1000))
path, sampler = metadata._path, stacks.sampler
for _ in range(70):
    child = os.fork()
    if child == 0:
        assert recorder.current is None and not recorder.can_record()
        assert stacks.sampler is not sampler  # it has one of its own, if any
        metadata.framework("of the child")
        metadata.write()
        assert os.fork() or not os._exit(0)  # waits for no sampler, which is its grandparent's
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert stacks.sampler is not None and recorder.current is not None
assert metadata._path == path
"""
STARTING = """
import os, subprocess, sys
for _ in range(3):
    assert os.waitpid(os.fork() or os._exit(0), 0)[1] == 0
subprocess.run([sys.executable, "-c", ""], check=True)
"""


def test_a_child_writes_few_pages_of_its_parents_for_the_agent(
    job: Callable[..., Job],
) -> None:
    alone = float(job(CHILDREN, recorded=False).stdout)
    recorded = float(job(CHILDREN, variables=RANK_ZERO).stdout)
    assert alone < recorded < 2.25 * alone


def test_a_child_that_is_not_noted_leaves_the_file_of_its_parent_alone(
    job: Callable[..., Job],
) -> None:
    done = job(OF_PARENT, variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (rank,) = done.of_role("rank")
    assert "of the child" not in rank.metadata["frameworks"]
    assert len(done.of_role("worker")) >= 64


def test_forks_are_counted_and_what_the_agent_took_in_children_is_noted(
    job: Callable[..., Job],
) -> None:
    """A child notes the CPU time of its own start; one loads the agent, the others inherit it."""
    done = job(STARTING, variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (rank,) = done.of_role("rank")
    assert rank.metadata["forks"] == 3
    notes = [worker.metadata for worker in done.of_role("worker")]
    forked = [one["fork_cpu_ns"] for one in notes if "fork_cpu_ns" in one]
    (loaded,) = [one["start_cpu_ns"] for one in notes if "start_cpu_ns" in one]
    assert len(forked) == 3
    assert 0 < max(forked) < loaded
