"""The stack sampler names function, file and line, and stays out of the way."""

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.jobs import RANK_ZERO, Job

BUSY = """
import time
class Trainer:
    def evaluate(self):
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            pass
def main():
    Trainer().evaluate()
main()
"""
DEEP = """
import time
def descend(n):
    if n:
        return descend(n - 1)
    deadline = time.monotonic() + 0.6
    while time.monotonic() < deadline:
        pass
descend(200)
"""
HELD = """
import ctypes, time
ctypes.PyDLL(None).usleep(600000)
time.sleep(0.3)
"""
ALIVE = """
import gc, time, weakref
gc.disable()
class Data:
    pass
def work():
    data = Data()
    time.sleep(0.5)
    return weakref.ref(data)
kept = work()
deadline = time.monotonic() + 5.0
while kept() is not None and time.monotonic() < deadline:
    time.sleep(0.01)
print(kept() is None, gc.collect() >= 0)
"""
COLLECTED = """
import gc, sys, time
gc.set_threshold(20)
during = set()
def begins(phase, info):
    frame = sys._getframe()
    while phase == "start" and frame is not None:
        during.add((frame.f_code.co_filename.rpartition("/")[2], frame.f_code.co_name))
        frame = frame.f_back
gc.callbacks.append(begins)
def descend(n):
    loops = [[] for _ in range(3)]
    time.sleep(0.00001)
    if n:
        descend(n - 1)
deadline = time.monotonic() + 3.0
while time.monotonic() < deadline:
    descend(30)
looking = {("stacks.py", "_walk"), ("stacks.py", "_walks")}
print(sys.version_info[:2] != (3, 11) or not looking & during, gc.isenabled(), len(during) > 1)
"""
SIGNALS = """
import signal, threading, time
main = threading.get_ident()
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.get_ident() == main))
for i in range(20):
    signal.raise_signal(signal.SIGUSR1)
    time.sleep(0.01)
masks = [line for task in __import__("os").listdir("/proc/self/task")
         for line in open(f"/proc/self/task/{task}/status") if line.startswith("SigBlk")]
print(all(seen), len(seen), sum(int(m.split()[1], 16) >> 9 & 1 for m in masks) >= 1)
"""


def test_names_function_file_and_line(job: Callable[..., Job], tmp_path: Path) -> None:
    process = job(BUSY, variables=RANK_ZERO).process
    stacks = process.functions()
    assert stacks
    file = str(tmp_path / "program.py")
    name = "Trainer.evaluate" if sys.version_info >= (3, 11) else "evaluate"
    called = [[frame for frame in stack if frame[1][0] != "<"] for stack in stacks]
    innermost = [stack[-1] for stack in called if len(stack) == 3]
    assert {(function, place) for function, place, _ in innermost} == {(name, file)}
    assert {line for _, _, line in innermost} <= {6, 7}
    assert [frame[0] for frame in stacks[-1][:2]] == ["<module>", "main"]
    assert stacks[-1][1][2] == 9


def test_keeps_nothing_of_the_program_alive(job: Callable[..., Job]) -> None:
    done = job(ALIVE, variables=RANK_ZERO)
    assert done.process.functions()
    assert done.stdout.split() == [b"True", b"True"]


def test_relative_file_names_become_absolute(job: Callable[..., Job], tmp_path: Path) -> None:
    code = compile(BUSY, "relative.py", "exec")
    text = f"import marshal; exec(marshal.loads({__import__('marshal').dumps(code)!r}))"
    stacks = job(text).process.functions()
    assert any(frame[1] == str(tmp_path / "relative.py") for stack in stacks for frame in stack)


def test_deep_stacks_keep_both_ends(job: Callable[..., Job]) -> None:
    sampled = [stack for stack in job(DEEP).process.functions() if len(stack) > 10]
    stacks = [[frame for frame in stack if frame[1][0] != "<"] for stack in sampled]
    assert stacks
    assert {len(stack) for stack in stacks} == {62}
    assert all(stack[0][0] == "<module>" for stack in stacks)
    assert all(stack[-1][2] in (7, 8) for stack in stacks)


def test_sampler_waits_while_c_code_holds_the_interpreter(job: Callable[..., Job]) -> None:
    assert hasattr(ctypes.PyDLL(None), "usleep")
    done = job(HELD)
    assert (done.exit_code, done.stderr) == (0, b"")
    assert done.process.functions()


def test_what_delays_looks_counts_for_each_of_them(job: Callable[..., Job]) -> None:
    """Half of the time is spent in C code that lets nobody look, half in code that does."""
    text = """
import ctypes, time
hold = ctypes.PyDLL(None).usleep
time.sleep(0.3)
def held():
    hold(300000)
def let():
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
for _ in range(3):
    held()
    let()
"""
    stacks = job(text).process.functions()
    seen = [{frame[0] for frame in stack} for stack in stacks]
    held, let = (sum(name in names for names in seen) for name in ("held", "let"))
    assert 0.5 <= held / let <= 2.0


def test_signals_reach_the_main_thread(job: Callable[..., Job]) -> None:
    done = job(SIGNALS, variables=RANK_ZERO)
    assert done.stdout == b"True 20 True\n"


def test_can_be_switched_off(job: Callable[..., Job]) -> None:
    process = job(BUSY, variables={"PERFSCOPE_STACK_HZ": "0"}).process
    assert process.functions() == []
    assert process.metadata["stack_sampler"]["hz"] == 0
    assert process.metadata["topology"]["cpus"] == os.cpu_count()


@pytest.mark.parametrize("ending", ["import os; os._exit(3)", "import sys; sys.exit(3)"])
def test_program_may_end_at_any_moment(job: Callable[..., Job], ending: str) -> None:
    for seconds in (0, 0.05, 0.15):
        done = job(f"import time; time.sleep({seconds}); {ending}")
        assert (done.exit_code, done.stdout, done.stderr) == (3, b"", b"")


def test_no_collection_begins_while_stacks_are_looked_at(job: Callable[..., Job]) -> None:
    """Python 3.11 crashes where one lets the frames that are looked at end."""
    done = job(COLLECTED, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True True True\n"), done.stderr
    assert len(done.process.functions()) >= 10
