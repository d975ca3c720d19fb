"""What takes longer than two seconds says on a terminal what is being done, and how far it is."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

from perfscope.output import is_terminal, rewrite
from perfscope.structures import dataclass

QUIET_S = 2.0
"""What is over by then says nothing."""

TICK_S = 1.0

Item = TypeVar("Item")


@dataclass
class _State:
    """What is being done; of a total of 0 it is not known how far it is."""

    what: str = ""
    done: int = 0
    total: int = 0

    def line(self, elapsed_s: float) -> str:
        """What a person sees of it."""
        far = f", {self.done:,} of {self.total:,}" if self.total else ""
        return f"perfscope: {self.what}{far}, {elapsed_s:.0f} s"


_now = _State()


def stage(what: str, total: int = 0) -> None:
    """From here on this is being done."""
    _now.what, _now.done, _now.total = what, 0, total


def counted(what: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, while it is counted how many of them are done."""
    stage(what, len(items))
    for item in items:
        yield item
        one_more()


def one_more() -> None:
    """Another item of what is being done is over."""
    _now.done += 1


@contextmanager
def told() -> Iterator[None]:
    """Tells on a terminal how far the block is, in a line that is gone when it ends."""
    if not is_terminal():
        yield
        return
    over = Event()
    teller = Thread(target=_tell_until, args=(over,), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell_until(over: Event) -> None:
    began_s = time.monotonic()
    if over.wait(QUIET_S):
        return
    is_over = False
    while not is_over:
        rewrite(_now.line(time.monotonic() - began_s))
        is_over = over.wait(TICK_S)
    rewrite("")
