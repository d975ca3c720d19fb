"""Queues between threads: what is recorded of them, and what the reader makes of it."""

from collections.abc import Callable

import numpy as np
import pytest

from perfscope.readers.detect import ReadOptions
from perfscope.readers.registry import open_traces
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Rank
from tests.agent.jobs import LOOKS, RANK_ZERO, Job

RUN = Callable[..., Job]

FED = (
    LOOKS
    + """
import queue, threading, time, perfscope_agent.marker as perfscope
ready = queue.Queue(maxsize=3)
def make():
    time.sleep(0.01)
def produce():
    for number in range(10):
        make()
        ready.put(number)
threading.Thread(target=produce, daemon=True).start()
with perfscope.phase("train"):
    for number in range(10):
        {around}
            assert ready.get() == number
"""
)
OTHERS = """
import queue, threading, perfscope_agent.marker as perfscope
def fill(some):
    for number in range(5):
        some.put(number)
with perfscope.phase("train"):
    for kind, bound in ((queue.Queue, 0), (queue.LifoQueue, 9), (queue.PriorityQueue, 9)):
        some = kind(bound)
        thread = threading.Thread(target=fill, args=(some,))
        thread.start()
        thread.join()
        for number in range(5):
            some.get()
    own = queue.Queue(9)
    fill(own)
    for number in range(5):
        own.get()
    try:
        own.get_nowait()
    except queue.Empty:
        print("empty")
"""


def rank_of(job: Job) -> Rank:
    (rank,) = open_traces([job.directory], ReadOptions()).ranks
    return rank


@pytest.mark.parametrize("around", ["if True:", 'with perfscope.phase("input"):'])
def test_batches_are_seen_on_both_sides(job: RUN, around: str) -> None:
    done = job(FED.format(around=around), variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    rank = rank_of(done)
    gets = rank.queues[rank.queues["is_get"]]
    puts = rank.queues[~rank.queues["is_get"]]
    assert (len(gets), len(puts)) == (10, 10)
    assert set(rank.queues["depth"].tolist()) == {3}
    assert set(gets["tid"].tolist()) == {rank.main_tid}
    assert rank.main_tid not in puts["tid"]
    # ten milliseconds from one put to the moment the next batch is ready
    made = puts["t0"][1:] - puts["t1"][:-1]
    assert np.all(made >= 9_900_000)
    assert np.all(gets["t1"] >= puts["t0"])
    inputs = rank.phases[rank.phases["kind"] == PhaseKind.INPUT]
    assert len(inputs) == 10, "a get is input wait, and once only"
    assert set(inputs["tid"].tolist()) == {rank.main_tid}


def test_the_producer_is_sampled_too(job: RUN) -> None:
    """Once the main thread has taken a batch of it; the looks at both are counted."""
    wait = "last = after(6)\n    while looks['samples'] < last: time.sleep(0.01)"
    code = FED.format(around="if True:").replace("time.sleep(0.01)", wait, 1)
    done = job(code, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    trace = open_traces([done.directory], ReadOptions())
    (rank,) = trace.ranks
    producer = np.unique(rank.queues["tid"][~rank.queues["is_get"]])
    seen = rank.stacks["stack"][np.isin(rank.stacks["tid"], producer)]
    assert len(seen) >= 3
    functions = {trace.frames[frame].function for row in seen for frame in trace.stacks[row]}
    assert "produce" in functions


def test_other_queues_are_left_alone(job: RUN) -> None:
    done = job(OTHERS, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == b"empty\n"
    rank = rank_of(done)
    assert not len(rank.queues)
    assert not np.any(rank.phases["kind"] == PhaseKind.INPUT)


ODD = """
import math, queue, threading
class Closed(queue.Queue):
    def __setattr__(self, name, value):
        if name.startswith("_perfscope"):
            raise TypeError("closed")
        super().__setattr__(name, value)
def fill(some):
    for number in range(5):
        some.put(number)
for some in (queue.Queue(math.inf), Closed(9)):
    thread = threading.Thread(target=fill, args=(some,))
    thread.start()
    thread.join()
    print([some.get() for _ in range(5)])
"""
ELSEWHERE = """
import queue, threading
some = queue.Queue(2)
def fill():
    for number in range(500):
        some.put(number)
def empty():
    for number in range(500):
        some.get()
threads = [threading.Thread(target=work) for work in (fill, empty)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_odd_queues_work_as_ever(job: RUN) -> None:
    found = job(ODD, variables=RANK_ZERO)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == b"[0, 1, 2, 3, 4]\n" * 2


def test_a_queue_between_other_threads_is_left_alone(job: RUN) -> None:
    """Some puts are recorded before it is seen that the program's own thread takes nothing."""
    found = job(ELSEWHERE, variables=RANK_ZERO)
    assert found.exit_code == 0, found.stderr
    assert len(rank_of(found).queues) < 100
