"""Threads that need no CPU are looked at while the main thread waits for one of them."""

from collections.abc import Callable

from tests.agent.jobs import LOOKS, RANK_ZERO, Job

HELD = f"""{LOOKS}
import threading, time
lock, leaves, over = threading.Lock(), threading.Event(), threading.Event()

def hold():
    with lock:
        leaves.set()
        time.sleep(0.1)

def reports():
    while not over.is_set():
        hold()
        leaves.clear()
        time.sleep(0.05)

def rests():
    over.wait()

threading.Thread(target=reports, name="reporter").start()
threading.Thread(target=rests, name="idler").start()
last = after(60)
while looks["samples"] < last:
    leaves.wait(1.0)
    with lock:
        pass
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
over.set()
"""
ALONE = f"""{LOOKS}
import threading, time
lock, over = threading.Lock(), threading.Event()
threading.Thread(target=over.wait, name="idler").start()
last = after(40)
while looks["samples"] < last:
    time.sleep(0.01)
    with lock:
        pass
over.set()
"""


def test_who_holds_a_lock_is_looked_at_while_it_is_waited_for(job: Callable[..., Job]) -> None:
    process = job(HELD, variables=RANK_ZERO).process
    names = process.metadata["python_threads"]
    assert set(names.values()) == {"reporter", "idler"}
    (reporter,) = (int(tid) for tid, name in names.items() if name == "reporter")
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for record, frames in zip(process.stack_records(), process.functions(), strict=True):
        seen[record.tid == reporter].update(function for function, _, _ in frames)
    assert "hold" in seen[True] - seen[False]
    assert "_thread.lock.__enter__" in seen[False]


def test_nobody_is_looked_at_where_the_main_thread_does_not_wait(job: Callable[..., Job]) -> None:
    process = job(ALONE, variables=RANK_ZERO).process
    assert "python_threads" not in process.metadata
    assert {record.tid for record in process.stack_records()} == {process.metadata["pid"]}
