"""The stack sampler names function, file and line, and stays out of the way."""

import ctypes
import itertools
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import looks, recorder, stacks
from tests.agent.jobs import LOOKS, RANK_ZERO, Job, is_share

BUSY = f"""{LOOKS}
class Trainer:
    def evaluate(self):
        last = after(20)
        while looks["samples"] < last:
            pass
def main():
    Trainer().evaluate()
main()
"""
DEEP = f"""{LOOKS}
def descend(n):
    if n:
        return descend(n - 1)
    last = after(10)
    while looks["samples"] < last:
        pass
descend(200)
"""
HELD = f"""{LOOKS}
import ctypes, time
ctypes.PyDLL(None).usleep(600000)
last = after(5)
while looks["samples"] < last:
    time.sleep(0.01)
"""
ALIVE = f"""{LOOKS}
import gc, time, weakref
gc.disable()
class Data:
    pass
def work():
    data, last = Data(), after(10)
    while looks["samples"] < last:
        time.sleep(0.01)
    return weakref.ref(data)
kept = work()
deadline = time.monotonic() + 60.0
while kept() is not None and time.monotonic() < deadline:
    time.sleep(0.01)
print(kept() is None, gc.collect() >= 0)
"""
COLLECTED = (
    LOOKS
    + """
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
last = after(100)
while looks["samples"] < last:
    descend(30)
looking = {("looks.py", "walk"), ("looks.py", "_callee")}
print(sys.version_info[:2] != (3, 11) or not looking & during, gc.isenabled(), len(during) > 1)
"""
)
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
    assert {line for _, _, line in innermost} <= {10, 11}
    assert [frame[0] for frame in stacks[-1][:2]] == ["<module>", "main"]
    assert stacks[-1][1][2] == 13


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
    assert all(stack[-1][2] in (11, 12) for stack in stacks)


def test_sampler_waits_while_c_code_holds_the_interpreter(job: Callable[..., Job]) -> None:
    assert hasattr(ctypes.PyDLL(None), "usleep")
    done = job(HELD)
    assert (done.exit_code, done.stderr) == (0, b"")
    assert done.process.functions()


def test_what_delays_looks_counts_for_each_of_them(job: Callable[..., Job]) -> None:
    """Half of the time is spent in C code that lets nobody look, half in code that does."""
    text = f"""{LOOKS}
import ctypes, time
hold = ctypes.PyDLL(None).usleep
time.sleep(0.3)
def held():
    hold(300000)
def let():
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
for _ in range(5):
    for each in held, let:
        begin_ns = time.monotonic_ns()
        each()
        print(each.__name__, begin_ns, time.monotonic_ns())
"""
    done = job(text)
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    calls = [(name, int(begin), int(end)) for name, begin, end in rows]
    stacks = zip(done.process.stack_records(), done.process.functions(), strict=True)
    told = [(record.t0, {frame[0] for frame in stack}) for record, stack in stacks]
    seen = sorted(told, key=lambda one: one[0])
    shares = [(call[0], spoken_for(call, seen)) for call in calls]
    for name in ("held", "let"):  # whoever loses the CPU meanwhile is late in that call alone
        assert statistics.median(share for of, share in shares if of == name) >= 0.7, shares


def spoken_for(call: tuple[str, int, int], seen: list[tuple[int, set[str]]]) -> float:
    """The share of a call that samples with its name speak for, each halfway to the next ones."""
    name, begin, end = call
    times = [at_ns for at_ns, _ in seen]
    cuts = [0, *((one + other) // 2 for one, other in itertools.pairwise(times)), end]
    spans = zip(itertools.pairwise(cuts), seen, strict=True)
    inside = sum(
        max(0, min(last, end) - max(first, begin))
        for (first, last), (_, names) in spans
        if name in names
    )
    return inside / (end - begin)


def test_a_call_that_holds_the_lock_and_then_gives_it_away_is_seen_in_both_parts(
    job: Callable[..., Job],
) -> None:
    """One that converts and then transfers, as those of mpi4py do."""
    text = f"""{LOOKS}
import ctypes, itertools, time
hold, let = ctypes.PyDLL(None).usleep, ctypes.CDLL(None).usleep
time.sleep(0.3)
for _ in range(8):
    both = itertools.chain(map(hold, [130000]), map(let, [130000]))
    begin_ns = time.monotonic_ns()
    list(both)
    print(begin_ns)
"""
    done = job(text)
    seen_ns = sorted(record.t0 for record in done.process.stack_records())
    longest_ns = []
    for begin_ns in map(int, done.stdout.split()):
        inside = [at for at in seen_ns if begin_ns <= at < begin_ns + 130_000_000]
        times = [begin_ns, *inside, begin_ns + 130_000_000]
        longest_ns.append(max(later - earlier for earlier, later in itertools.pairwise(times)))
    assert statistics.median(longest_ns) < 80_000_000, longest_ns


def test_what_is_shorter_than_the_time_between_looks_is_seen_where_it_was_due(
    job: Callable[..., Job],
) -> None:
    """Not where code that has kept the lock gives it away, and lets others look."""
    text = f"""{LOOKS}
import ctypes, itertools, time
hold, let = ctypes.PyDLL(None).usleep, ctypes.CDLL(None).usleep
time.sleep(0.3)
for _ in range(120):
    clock = itertools.islice(iter(time.monotonic_ns, 0), 1)  # read by C code, as all of this
    both = itertools.chain(map(hold, [20000]), clock, map(let, [20000]))
    begin_ns = time.monotonic_ns()
    _, between_ns, _ = both
    print(begin_ns, between_ns, time.monotonic_ns())
"""
    done = job(text)
    seen_ns = np.array([record.t0 for record in done.process.stack_records()])
    lines = (line.split() for line in done.stdout.splitlines())
    begins, betweens, ends = np.array([[int(word) for word in line] for line in lines]).T
    place = np.searchsorted(begins, seen_ns, side="right") - 1
    inside = (place >= 0) & (seen_ns < ends[place])
    held = int(np.count_nonzero(seen_ns[inside] < betweens[place[inside]]))
    looks = int(np.count_nonzero(inside))
    share = float(np.sum(betweens - begins) / np.sum(ends - begins))
    # who is asked for the lock may keep it for 5 ms, and be told where it is by then
    least = share - 5e6 / float(np.mean(ends - begins))
    assert looks > 40
    assert is_share(held, looks, share, least), (held, looks, share)


class Samples:
    """What the sampler asks of a recorder to write samples; keeps their moments."""

    def __init__(self) -> None:
        self.at_ns: list[int] = []

    def place(self, *_: object) -> int:
        return 1

    def stack(self, _frames: list[int]) -> int:
        return 1

    def now(self) -> int:
        return 2 * 10**9

    def look_at_all(self, _function: object) -> dict[int, object]:
        """No thread is there beside what was noted, whether or not others are to be looked at."""
        return {}

    def stack_knows(self, _code: int, _last: int) -> None:
        """No wait is to end for a known place."""

    def stack_sample(self, _thread: int, _stack: int, at_ns: int) -> None:
        self.at_ns.append(at_ns)


def test_looks_that_one_delay_keeps_waiting_count_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two were due 20 ms apart; C code kept both waiting until a second had passed."""
    code = compile("", "program.py", "exec")
    monkeypatch.setattr(stacks, "watched", {recorder.main_thread: 1})
    monkeypatch.setattr(looks, "_told", lambda _place: "")
    written: Any = Samples()
    places = [(code, 0)]
    notes = [(10**9, 0, 0, "", places, 0), (10**9 + 1000, 2 * 10**7, 0, "", places, 10**9 + 1000)]
    sampler = stacks.Sampler(50.0, written, lambda: None)
    sampler._sample(written, notes, (2 * 10**7, 3 * 10**9))
    late_again = [(2 * 10**9, 10**9 - 10**7, 0, "", places, 10**9 - 10**7)]
    sampler._sample(written, late_again, (10**9 - 10**7, 3 * 10**9))
    second = written.at_ns.index(10**9 + 1000)
    assert second == pytest.approx(1 + 39.5, abs=1)
    assert len(written.at_ns[second + 1 :]) == pytest.approx(1 + 38.5, abs=1)
    assert min(written.at_ns[second + 1 :]) == 10**9 + 1000


def test_signals_reach_the_main_thread(job: Callable[..., Job]) -> None:
    done = job(SIGNALS, variables=RANK_ZERO)
    assert done.stdout == b"True 20 True\n"


def test_can_be_switched_off(job: Callable[..., Job]) -> None:
    text = "import time; time.sleep(1)"
    process = job(text, variables={"PERFSCOPE_STACK_HZ": "0"}).process
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
    assert len(done.process.functions()) >= 100
