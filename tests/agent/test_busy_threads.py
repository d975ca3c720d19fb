"""Which other threads have their stacks looked at."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from perfscope.agent.perfscope_agent import busy_threads, metadata

LATER_NS = 250_000_000


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(metadata, "facts", {})
    busy_threads.forget()
    yield
    busy_threads.forget()


def compute() -> None:
    """Uses a CPU for longer than a tenth of the time between two looks."""
    begin = time.thread_time()
    while time.thread_time() - begin < 0.05:
        pass


class Held:
    """A thread that does something and then stays until it is let go."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._done, self._leave = work, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, name="feeder")

    def _run(self) -> None:
        self._work()
        self._done.set()
        self._leave.wait()

    def __enter__(self) -> threading.Thread:
        self.thread.start()
        self._done.wait()
        return self.thread

    def __exit__(self, *_: object) -> None:
        self._leave.set()
        self.thread.join()


def test_a_thread_that_began_since_the_last_look_is_watched_at_once() -> None:
    watched: dict[int, int] = {}
    busy_threads.look(1, watched)
    with Held(compute) as thread, Held(lambda: None):
        busy_threads.look(1 + LATER_NS, watched)
        assert watched == {thread.ident: thread.native_id}
        assert metadata.facts["python_threads"] == {str(thread.native_id): "feeder"}


def test_a_thread_that_rests_is_watched_no_longer() -> None:
    watched: dict[int, int] = {}
    busy_threads.look(1, watched)
    with Held(compute):
        busy_threads.look(1 + LATER_NS, watched)
        busy_threads.look(1 + 2 * LATER_NS, watched)
    assert watched == {}


def test_nothing_is_kept_of_threads_that_have_ended() -> None:
    for place in range(4):
        with Held(lambda: None):
            busy_threads.look(1 + place * LATER_NS, {})
    busy_threads.look(1 + 4 * LATER_NS, {})
    own = {one.native_id for one in threading.enumerate()}
    assert set(busy_threads._known) <= own
