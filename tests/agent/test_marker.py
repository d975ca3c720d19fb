"""The public markers write what they say, and nothing when nothing is recorded."""

import asyncio
import itertools
import math
import struct
from collections.abc import Callable

import pytest

import perfscope
from perfscope.agent.perfscope_agent import recorder
from tests.agent.jobs import LOOKS, NONE, Job

PHASES = """
from perfscope_agent import marker
import asyncio
@marker.phase("evaluate")
def outer(n):
    return outer(n - 1) if n else "done"
@marker.phase("waiting", epoch=4)
async def wait():
    await asyncio.sleep(0.02)
    return 5
assert outer.__name__ == "outer"
for name in ("Train", "save", "my own"):
    with marker.phase(name, step=7):
        pass
print(outer(1), asyncio.run(wait()))
try:
    with marker.phase("input"):
        raise KeyError("through")
except KeyError:
    pass
"""
LOOKED_UP = """
import perfscope, sys
calls = []
def watch(frame, event, argument):
    if event == "call" and frame.f_code is perfscope.__getattr__.__code__:
        calls.append(frame)
sys.setprofile(watch)
for _ in range(3):
    perfscope.step()
    perfscope.metric("loss", 1.0)
sys.setprofile(None)
print(len(calls))
"""
ODD = """
from perfscope_agent import marker
class Odd:
    def __float__(self):
        raise ValueError("odd")
for name in (5, None, b"bytes", "\\ud800"):
    with marker.phase(name, step="first", epoch=2.5) as same:
        assert same is not None
    marker.metric(name, "much")
marker.metric("loss", Odd())
with marker.step("many", number="two"):
    pass
marker.step(number=2**70)
marker.step()
with marker.phase("end"):
    print("survived")
"""
STEPS = """
from perfscope_agent import marker
for i in range(3):
    marker.step(samples=10 + i, global_batch=40, epoch=1)
    marker.metric("loss", 1 / (i + 1))
with marker.step(samples=5, number=100):
    pass
marker.metric("after", 2)
with marker.step():
    pass
"""
THREADS = f"""{LOOKS}
import threading, time
from perfscope_agent import marker
def work():
    with marker.phase("producer"):
        last = after(20)
        while looks["samples"] < last:
            time.sleep(0.001)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_phases_have_kind_name_step_and_epoch(job: Callable[..., Job]) -> None:
    done = job(PHASES)
    assert (done.stdout, done.stderr) == (b"done 5\n", b"")
    process = done.process
    kinds = recorder.Phase
    assert process.phases() == [
        ("Train", kinds.TRAIN),
        ("save", kinds.CHECKPOINT),
        ("my own", kinds.USER),
        ("evaluate", kinds.EVALUATE),
        ("evaluate", kinds.EVALUATE),
        ("waiting", kinds.USER),
        ("input", kinds.INPUT),
    ]
    outer, inner = process.phase_records("evaluate")
    assert outer.t0 <= inner.t0 <= inner.t1 <= outer.t1
    (own,) = process.phase_records("my own")
    assert (own.seq, own.tag, own.tid) == (7, -1, process.metadata["pid"])
    (waiting,) = process.phase_records("waiting")
    assert (waiting.seq, waiting.tag) == (NONE, 4)
    assert waiting.t1 - waiting.t0 >= 10_000_000


def test_what_makes_no_sense_is_noted_and_never_raised(job: Callable[..., Job]) -> None:
    done = job(ODD)
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"survived\n", b"")
    process = done.process
    assert ("end", recorder.Phase.USER) in process.phases()
    told = " ".join(process.metadata["agent_notes"])
    assert all(f"a {what} was not recorded" in told for what in ("phase", "number", "step"))


def test_steps_follow_each_other(job: Callable[..., Job]) -> None:
    process = job(STEPS).process
    steps = process.steps()
    assert [(s.seq, s.tag, s.sent, s.received) for s in steps] == [
        (0, 1, 10, 40),
        (1, 1, 11, 40),
        (2, 1, 12, 40),
        (100, 1, 5, 0),
        (101, 1, 0, 0),
    ]
    assert all(a.t1 == b.t0 for a, b in itertools.pairwise(steps[:4]))
    assert steps[3].t1 < steps[4].t0
    values = [
        (name, r.seq, r.tag, struct.unpack("<d", struct.pack("<Q", r.sent))[0])
        for name, r in process.metrics()
    ]
    assert values[:3] == [("loss", i, 1, 1 / (i + 1)) for i in range(3)]
    assert values[3] == ("after", 100, 1, 2.0)
    assert process.metadata["step_source"] == "marker"


def test_no_function_of_the_package_stands_between_a_job_and_its_steps(
    job: Callable[..., Job],
) -> None:
    assert job(LOOKED_UP).stdout == b"1\n"


def test_last_step_ends_with_the_program(job: Callable[..., Job]) -> None:
    (step,) = job("from perfscope_agent import marker; marker.step(samples=3)").process.steps()
    assert step.sent == 3


def test_threads_that_open_phases_are_sampled(job: Callable[..., Job]) -> None:
    process = job(THREADS).process
    (phase,) = process.phase_records("producer")
    assert phase.tid != process.metadata["pid"]
    assert any(
        frame[0] in ("work", "work.<locals>") for stack in process.functions() for frame in stack
    )


def test_nothing_is_done_when_nothing_is_recorded() -> None:
    first, second = perfscope.phase("evaluate"), perfscope.phase("train", epoch=1)
    assert first is second
    assert perfscope.step(samples=3) is first

    def work() -> int:
        return 3

    assert first(work) is work
    with first, pytest.raises(ZeroDivisionError), second:
        math.fsum([1 / 0])
    perfscope.metric("loss", 1.0)


def test_async_functions_pass_through_when_nothing_is_recorded() -> None:
    @perfscope.phase("evaluate")
    async def work() -> int:
        return 3

    assert asyncio.run(work()) == 3
