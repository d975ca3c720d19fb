"""Threads that need no CPU are looked at while the main thread waits for one of them."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import awaited, blocked, looks, own_threads, recorder
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


LOCK = threading.Lock()


def waits_for_the_lock() -> None:
    LOCK.acquire()
    LOCK.release()


class Library:
    """Stands in for the recorder's functions."""

    def look_at_all(self, function: Callable[[], Any]) -> Any:
        return function()

    def now(self) -> int:
        return time.monotonic_ns()


@contextmanager
def resting(count: int) -> Iterator[list[threading.Thread]]:
    """So many threads that wait for the end of the block."""
    over = threading.Event()
    started = [threading.Thread(target=over.wait, name=f"rests {at}") for at in range(count)]
    for thread in started:
        thread.start()
    try:
        yield started
    finally:
        over.set()
        for thread in started:
            thread.join()


def chosen(frames: dict[int, FrameType]) -> set[str]:
    return {name for _, name, _ in awaited.others(frames, {threading.get_ident(): 0})}


def test_of_many_threads_the_one_that_moved_is_looked_at_and_of_the_others_each_in_turn() -> None:
    awaited.forget()
    with resting(50) as threads:
        frames = sys._current_frames()
        seen = [chosen(frames) for _ in range(4)]
        assert all(len(names) < len(threads) for names in seen)
        assert {thread.name for thread in threads} <= set().union(*seen)
        # the last one is now where another thread was: here
        frames[threads[-1].ident or 0] = frames[threading.get_ident()]
        assert all(threads[-1].name in chosen(frames) for _ in range(4))
        frames.clear()


def test_who_a_thread_is_is_asked_of_those_alone_that_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of hundreds, as servers have, all would take longer than the look."""
    asked: list[int] = []

    class Active(dict[int, threading.Thread]):
        def get(self, key: int, default: Any = None) -> Any:
            asked.append(key)
            return super().get(key, default)

    awaited.forget()
    with resting(50) as threads:
        active = Active({thread.ident or 0: thread for thread in threads})
        monkeypatch.setattr(own_threads, "contents", lambda _module: {"_active": active})
        frames = {one: frame for one, frame in sys._current_frames().items() if one in active}
        assert len(chosen(frames)) == len(asked) == 16
        frames.clear()


def test_the_kernel_is_asked_once_for_a_thread_and_while_no_frames_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    library: Any = Library()
    current, asks = sys._current_frames, blocked.asked
    held: list[dict[int, FrameType]] = []

    def taken() -> dict[int, FrameType]:
        held.append(current())
        return held[-1]

    def ask(thread_id: int) -> str:
        assert not any(held)
        asked.append(thread_id)
        return asks(thread_id)

    with ExitStack() as stack, LOCK:
        idler, *_ = stack.enter_context(resting(1))
        main = threading.Thread(target=waits_for_the_lock)
        main.start()
        while blocked.system_call(main.native_id or 0) != "futex":
            time.sleep(0.001)
        watched = {main.ident or 0: main.native_id or 0}
        monkeypatch.setattr(recorder, "main_thread", main.ident)
        monkeypatch.setattr(sys, "_current_frames", taken)
        monkeypatch.setattr(blocked, "asked", ask)
        awaited.forget()
        found, others = looks.seen(library, [], (1, 2 * time.monotonic_ns()), watched)
        seen = list(looks.with_calls(found, others, watched, is_due=True))
    main.join()
    assert [look[0] for look in seen] == [main.native_id, idler.native_id]
    assert asked == [main.native_id, idler.native_id]
