"""What the calls of a framework's functions keep and spend, for each function in sums.

Memory of the process's own is read before and after a call. The sums are written after each of the
first calls and then each time that some more have come, so that a long run stays small.
"""

from __future__ import annotations

from .. import recorder
from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable

_FIRST = 128  # calls that are written one by one
_PART = 128  # later: when this part of all calls has come anew
_BRIEF_NS = 1000000  # of shorter calls only some are measured: reading memory takes 2 us
_SOME = 4
_MOST_COUNTERS = 64

running: Counter | None = None
"""Whose call is running; what it calls in turn is part of it, but what the program calls there."""

_counters: dict[str, Counter] = {}


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global running
    running = None
    _counters.clear()


class Counter:
    """Sums over the calls of one function."""

    __slots__ = (
        *(
            "_before",
            "_begin_ns",
            "_due",
            "_first_ns",
            "_is_brief",
            "_name",
            "_outer",
        ),
        *("calls", "compiled", "is_running", "kept", "measured", "set_up_ns"),
    )

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_brief = self.is_running = False
        self._outer: Counter | None = None
        self._due = 1
        self._before = self._begin_ns = self._first_ns = 0
        self.calls = self.measured = self.compiled = 0
        self.kept = self.set_up_ns = 0

    def begin(self, rec: recorder.Recorder) -> None:
        """A call begins."""
        global running
        self._outer, running = running, self
        self.is_running = True
        self.calls += 1
        some = self.calls <= _FIRST or not self._is_brief or self.calls % _SOME == 0
        self._before = rec.private_bytes() if some else 0
        self._first_ns = 0
        self._begin_ns = rec.now()

    def compute(self, rec: recorder.Recorder) -> None:
        """A compiled function begins inside the call: until the first one it was set up."""
        self.compiled += 1
        if not self._first_ns:
            self._first_ns = rec.now()

    def end(self, rec: recorder.Recorder) -> None:
        """The call is over."""
        self.leave()
        self._is_brief = rec.now() - self._begin_ns < _BRIEF_NS
        if self._first_ns:
            self.set_up_ns += self._first_ns - self._begin_ns
        is_due = self.calls >= self._due
        now = rec.private_bytes() if self._before or is_due else 0
        if self._before:
            self.measured += 1
            self.kept += now - self._before
        if is_due:
            self.write(rec, now)
            self._due = self.calls + max(1, self.calls // _PART)

    def leave(self) -> None:
        """The call goes on no more: what it was called in does, if that is not over itself.

        Of two threads the one that began first may end first.
        """
        global running
        self.is_running = False
        if running is self:
            while running is not None and not running.is_running:
                running = running._outer
        self._outer = None

    def write(self, rec: recorder.Recorder, private_bytes: int) -> None:
        """Writes the sums so far, and the process's own memory now."""
        rec.calls(
            rec.name(self._name),
            min(self.calls, 0xFFFFFFFE),
            min(self.measured, 0x7FFFFFFF),
            min(self.compiled, 0x7FFFFFFF),
            self.kept,
            private_bytes,
            self.set_up_ns,
        )


def counter(name: str, by_program: bool = False) -> Counter | None:
    """The counter of a function; None while a call of another is running, or for one too many.

    What the program itself calls there, as in a callback, counts all the same.
    """
    if running is not None and not by_program:
        return None
    known = _counters.get(name)
    if known is None and len(_counters) < _MOST_COUNTERS:
        known = _counters[name] = Counter(name)
    return None if known is None or known.is_running else known


class Counted:
    """Counts one call of a function; `kind` makes it a phase as well.

    `by_program`: the program itself calls it, and not a library.
    """

    __slots__ = ("_counter", "_phase", "_rec")

    def __init__(
        self, rec: recorder.Recorder, name: str, *, kind: int = 0, by_program: bool = False
    ) -> None:
        self._rec = rec
        self._counter = counter(name, by_program)
        self._phase = wrap.Inside(rec, kind, name) if kind else None

    def __enter__(self) -> None:
        if self._counter is not None:
            self._counter.begin(self._rec)
        if self._phase is not None:
            self._phase.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._phase is not None:
            self._phase.__exit__(kind, value, traceback)
        if self._counter is None:
            return
        # A fork inside the call leaves the child without a recording.
        if recorder.current is self._rec:
            self._counter.end(self._rec)
        else:
            self._counter.leave()


def phase(
    owner: Any, name: str, kind: int, label: str, before: Callable[[], None] | None = None
) -> bool:
    """Records every call of `owner.name` as a phase and counts it; `before` runs first."""
    return wrap.surround(owner, name, lambda rec: Counted(rec, label, kind=kind), before)


def finish() -> None:
    """At exit: the last sums."""
    rec = recorder.current
    if rec is not None:
        for known in _counters.values():
            known.write(rec, rec.private_bytes())
