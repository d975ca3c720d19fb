"""Stacks are noted when a look is due, whoever holds the lock, and nothing is lost by it."""

from collections import Counter
from collections.abc import Callable

from tests.agent.jobs import LOOKS, RANK_ZERO, Job, is_share

HALF = (
    LOOKS
    + """
import hashlib, time
data = bytes(40000)
def interpreting():
    end = time.thread_time() + 0.003
    while time.thread_time() < end:
        sum(range(50))
def digesting():
    end = time.thread_time() + 0.003
    while time.thread_time() < end:
        hashlib.sha256(data)
spent, number, last = [0.0, 0.0], 0, after(120)
while looks["samples"] < last:
    begin = time.monotonic()
    (interpreting, digesting)[number % 2]()
    spent[number % 2] += time.monotonic() - begin
    number += 1
print(*spent)
"""
)
SEARCHED = (
    LOOKS
    + """
kept = [str(number) for number in range(20000)]
def search(text):
    for _ in range(20):
        is_known = text in kept
        len(text)
last = after(60)
while looks["samples"] < last:
    search("none of them")
"""
)
BOUND = (
    LOOKS
    + """
import numpy as np
def choose():
    np.random.choice(100000, 10, replace=False)
last = after(20)
while looks["samples"] < last:
    choose()
"""
)
INTERRUPTED = (
    LOOKS
    + """
import os, random, signal, time
seen = caught = 0
def interrupt(*_):
    global seen
    seen += 1
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)
last, sent = after(40), 0
while looks["samples"] < last or sent < 300:
    work(random.randrange(12))
    try:
        sent += 1
        os.kill(os.getpid(), signal.SIGINT)
        work(12)
    except KeyboardInterrupt:
        caught += 1
print(sent == seen == caught)
"""
)
FORKED = """
import os, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(20))
spin(0.2)
codes = []
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        spin(0.03)
        os._exit(7)
    spin(0.005)
    codes.append(os.waitpid(pid, 0)[1])
print(set(codes) == {7 << 8})
"""
COLLECTING = (
    LOOKS
    + """
import gc, sys, threading, time
gc.set_threshold(1)
class Node:
    def __init__(self):
        self.me = self
    def __del__(self):
        sum(range(3))
def deep(n):
    Node()
    return deep(n - 1) + 1 if n else 0
last = after(10)
def beside():
    while looks["samples"] < last:
        deep(10)
threads = [threading.Thread(target=beside) for _ in range(2)]
for thread in threads:
    thread.start()
while looks["samples"] < last:
    deep(30)
    exec("class A: pass\\nfor _ in range(20): A()", {})
for thread in threads:
    thread.join()
# it is off during a look, in which this thread may have its turn
is_on = any(time.sleep(0.01) or gc.isenabled() for _ in range(200))
print(is_on, gc.get_threshold()[0])
"""
)
ENDING = """
import atexit, sys, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(20))
class Late:
    def __del__(self):
        spin(0.1)
        print("late")
sys.late = Late()
spin(0.3)
if sys.argv[1:]:
    atexit._clear()
sys.exit(3)
"""


def test_code_with_and_without_the_lock_is_seen_as_long_as_it_takes(
    job: Callable[..., Job],
) -> None:
    done = job(HALF, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    names = {"interpreting", "digesting"}
    seen = Counter(
        frame[0] for stack in done.process.functions() for frame in stack if frame[0] in names
    )
    interpreting_s, digesting_s = map(float, done.stdout.split())
    share = interpreting_s / (interpreting_s + digesting_s)  # other processes' turns are in it, too
    assert seen.total() > 40
    assert is_share(seen["interpreting"], seen.total(), share), (seen, share)


def test_no_interrupt_is_lost(job: Callable[..., Job]) -> None:
    done = job(INTERRUPTED, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True\n"), done.stderr
    assert done.process.functions()


def test_forked_children_note_nothing(job: Callable[..., Job]) -> None:
    done = job(FORKED, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True\n"), done.stderr


def test_collections_at_every_moment_do_no_harm(job: Callable[..., Job]) -> None:
    done = job(COLLECTING, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True 1\n"), done.stderr
    assert done.process.functions()


def test_ends_as_it_would_have(job: Callable[..., Job]) -> None:
    done = job(ENDING, variables=RANK_ZERO, name="one.py")
    assert (done.exit_code, done.stderr) == (3, b"")
    done = job(ENDING, variables=RANK_ZERO, name="two.py", arguments=("clear",))
    assert (done.exit_code, done.stderr) == (3, b"")


def test_an_operator_is_seen_at_its_line_and_not_at_the_call_behind_it(
    job: Callable[..., Job],
) -> None:
    """The evaluation loop looks up at calls; that a frame is at an operator is read from it."""
    done = job(SEARCHED, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    inside = Counter(stack[-1][0] for stack in done.process.functions() if stack[1:2])
    assert inside["builtins.list.__contains__"] > inside.total() / 2


def test_what_cython_binds_has_the_name_under_which_it_is_called(job: Callable[..., Job]) -> None:
    done = job(BOUND, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    seen = {stack[-1][0] for stack in done.process.functions()}
    assert "numpy.random.choice" in seen
