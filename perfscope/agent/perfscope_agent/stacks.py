"""Samples Python stacks at most 50 times a second, so that unlabeled time gets a name."""

from __future__ import annotations

import gc
import os
import sys
import time

from . import (
    awaited,
    blocked,
    busy_threads,
    callees,
    file_locks,
    files,
    lock_looks,
    looks,
    noted,
    own_threads,
    recorder,
    small_calls,
)
from . import notes as agent_notes
from .pace import Pace, meetings, requested_hz, waits
from .places import OWN, Places, is_loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Tuple

    _Place = Tuple[CodeType, int]
    _Named = Tuple[int, _Place]
    _Dues = Tuple[int, int]  # when the last look was due, and the next one

_FIRST_S = 0.1  # what runs for less is left alone
_OTHERS_S = 0.1  # between looks at what is not stacks
_MAX_DEPTH = 62  # of Python frames; two more may say what the innermost one calls
_INNERMOST = 48
_MAX_CACHED = 20000
_THREAD_BYTES = 72 << 20  # address space: 8 MiB of stack, 64 MiB that the C library reserves
_IS_FRAGILE = sys.version_info[:2] == (3, 11)
"""Whether looking at the frames of another thread may crash, as in Python 3.11 alone.

There frames become objects when they are looked at. Where the allocation begins a garbage
collection whose finalizers let the other thread go on, the frame may be over before its object is
finished, which then points into nothing. So there is no collection meanwhile.
"""
_LATER_S = 30.0  # a program has its data and its workers by then

statistics = {"hz": 0.0, "samples": 0, "cpu_ns": 0}
"""What the sampler did and what it cost, for the metadata file."""

with_each_sample: list[Callable[[], None]] = []
"""What else is looked at, up to ten times a second, within bounds of its own; must not raise."""

watched: dict[int, int] = {}
"""Threads to sample: Python identity -> kernel thread id."""


class Sampler:
    """The sampling thread; started and stopped by the main thread."""

    def __init__(
        self,
        hz: float,
        rec: recorder.Recorder,
        first: Callable[[], None],
        later: Callable[[Any], None] | None = None,
        inherited: int = 0,
    ) -> None:
        """Samples at that rate, without the outermost frames, those that a fork has left behind."""
        import _thread

        self._library = rec
        self._pace = Pace(hz)
        self._first: Callable[[], None] | None = first
        self._later, self._inherited = later, inherited
        self._later_s = time.monotonic() + _LATER_S
        self._begin_s = 0.0
        self._thread_id = 0  # the kernel's
        self._before_ns = self._noted_ns = 0  # spent by the last look; by the main thread
        self._done = _thread.allocate_lock()
        self._hidden = _thread.allocate_lock()
        # Held by whoever must not be interrupted by a fork: a child would inherit half-made state.
        self.busy = _thread.allocate_lock()
        self._places = Places()
        self._stacks: dict[tuple[int, ...], int] = {}
        self._looked_ns: dict[int, int] = {}  # when threads were looked at last

    def recording(self) -> recorder.Recorder | None:
        """Where stacks are written, once there is something."""
        return recorder.current

    def look_at_others(self, rec: recorder.Recorder) -> None:
        """Looks at what is no stack."""
        waits.look(watched.get(recorder.main_thread, 0))
        busy_threads.look(rec.now(), watched)
        file_locks.look(watched.get(recorder.main_thread, 0))
        small_calls.seen.time(rec)
        for look in with_each_sample:
            look()

    def start(self) -> None:
        """Starts the thread; `threading` does not know it, so the program counts only its own."""
        import _thread

        self._done.acquire()
        noted.start(self._library)
        self._hidden.acquire()
        _thread.start_new_thread(self._run, ())
        self._hidden.acquire(True, 1.0)  # a fork at once would meet a thread of the program

    def stop(self) -> None:
        """Ends the thread and waits for it, one second at most."""
        self._library.stack_notes_stop()
        self._done.acquire(True, 1.0)

    def _run(self) -> None:
        try:
            own_threads.enter()
            own_threads.block_signals()
            self._hide()
            self._loop()
        except Exception as error:
            agent_notes.failure("stack sampler stopped", error)
        finally:
            own_threads.leave()
            self._done.release()

    def _loop(self) -> None:
        self._begin_s = time.monotonic() - waits.ns / 1e9
        due_ns, now_ns, others_s = 0, 0, 0.0
        while True:
            dues_ns = self._dues_ns(due_ns, now_ns)
            # Where this thread has waited for the lock since the last look, it is to look at once.
            is_late = dues_ns[0] <= time.monotonic_ns()
            seen = 1 if is_late else self._library.stack_notes_wait(dues_ns[:-1])
            notes = noted.take(self._library)
            due_ns = dues_ns[seen - 1] if seen else 0
            now_ns = time.monotonic_ns()
            self._ask(0 if is_late else due_ns, now_ns)
            if seen:
                self._do_once(now_ns / 1e9)
            with self.busy:
                rec = self.recording()
                if rec is not None and (seen or notes):
                    count = self._sample(rec, notes, (due_ns, dues_ns[seen]))
                    self._count(count, notes, now_ns / 1e9)
                    is_due = meetings.has_come() or now_ns / 1e9 - others_s >= _OTHERS_S
                    if seen and is_due:
                        others_s = now_ns / 1e9
                        self.look_at_others(rec)
                        self._is_paid()
            if not seen:
                return

    def _ask(self, due_ns: int, now_ns: int) -> None:
        """Notes whether the lock was free, where another thread may have kept it."""
        if due_ns and len(watched) > 1:
            lock_looks.woken(self._thread_id, due_ns, now_ns)
        else:
            lock_looks.leave()

    def _dues_ns(self, due_ns: int, looked_ns: int) -> list[int]:
        """When to look next, as far as Python need not be woken for it, and when behind that."""
        found = []
        if not due_ns:
            due_ns = time.monotonic_ns() + int(_FIRST_S * 1e9)
            found.append(due_ns)
        is_alone = len(watched) == 1 and not awaited.is_near()
        count = self._pace.together() if is_alone and not found else 1
        meeting_ns = meetings.following_ns(max(due_ns, looked_ns))
        first = len(found)
        while len(found) <= count:
            before_ns = due_ns
            due_ns = self._pace.next_due_ns(due_ns, looked_ns, len(found) - first)
            if before_ns < meeting_ns <= due_ns:
                due_ns, count = meeting_ns, len(found) + 1
            found.append(due_ns)
        return found

    def _do_once(self, now_s: float) -> None:
        """What is done soon after the start, and after half a minute."""
        if self._first is not None:
            with self.busy:
                first, self._first = self._first, None
                first()
        elif self._later is not None and now_s >= self._later_s:
            later, self._later = self._later, None
            later(self.busy)
        else:
            return
        self._is_paid()

    def _is_paid(self) -> None:
        """Leaves what was done last out of what looks cost: it has bounds of its own."""
        self._before_ns = time.thread_time_ns() + self._noted_ns

    def _count(self, count: int, notes: list[noted.Note], now_s: float) -> None:
        """Counts looks and all that they cost: of this thread, and of the main one for its own."""
        own_ns = time.thread_time_ns()
        self._noted_ns += sum([note[2] for note in notes if not note[3]])
        spent_ns = own_ns + self._noted_ns
        got_s = now_s - self._begin_s - waits.ns / 1e9
        self._pace.looked((spent_ns - self._before_ns) / 1e9, got_s, count)
        self._before_ns = spent_ns
        statistics["cpu_ns"] = spent_ns

    def _hide(self) -> None:
        """Has this thread left out of what is counted of the program."""
        try:
            self._thread_id = recorder.native_thread_id()
            if self._thread_id:
                self._library.ignore_thread(self._thread_id)
        finally:
            self._hidden.release()

    def _sample(self, rec: recorder.Recorder, notes: list[noted.Note], dues_ns: _Dues) -> int:
        """Writes what was noted and what is seen now; at how many moments that was looked at."""
        is_held = _IS_FRAGILE and gc.isenabled()
        if is_held:
            gc.disable()
        try:
            found, others = looks.seen(rec, notes, dues_ns, watched)
        finally:
            if is_held:
                gc.enable()
        seen = list(looks.with_calls(found, others, watched, is_due=bool(dues_ns[0])))
        before_ns, self._looked_ns = self._looked_ns, {}
        main, count = watched.get(recorder.main_thread), 0
        for thread_id, places, callee, call, (at_ns, was_due_ns, stood_ns) in seen:
            # a delay counts once: earlier time is covered by the look before
            since_ns = self._looked_ns.get(thread_id) or before_ns.get(thread_id, 0)
            self._looked_ns[thread_id] = at_ns
            if thread_id == main:
                count += 1
                self._pace.is_loading = is_loading(places)
            waits_in = blocked.told(call)
            most = (
                max(1, len(places) - self._inherited)
                if thread_id == os.getpid()
                else looks.MAX_WALK
            )
            stack = self._stack(rec, places[:most], _leaves(callee, waits_in))
            if stack:
                due_ns = max(was_due_ns, since_ns)
                moments = self._pace.moments(due_ns, max(stood_ns, since_ns), at_ns)
                for moment_ns in moments:
                    rec.stack_sample(thread_id, stack, moment_ns)
                if thread_id == main:
                    small_calls.seen.see(places, at_ns, len(moments))
        statistics["samples"] += max(1, len(seen))
        return max(1, count)

    def _stack(
        self,
        rec: recorder.Recorder,
        places: list[tuple[CodeType, int]],
        leaves: tuple[tuple[str, str], ...],
    ) -> int:
        """The id of the stack of these places and of what they call, 0 without any place."""
        name = self._places.name
        named = [(name(rec, place), place) for place in places]
        named = [one for one in named if one[0] != OWN]
        if len(named) > _MAX_DEPTH:
            named = _shortened(named)
        if not named:
            return 0
        key = tuple([one[0] for one in reversed(named)])
        key += tuple([self._places.leaf(rec, *leaf) for leaf in leaves])
        known = self._stacks.get(key)
        if known is None:
            known = rec.stack(list(key))
            if len(self._stacks) >= _MAX_CACHED:
                self._stacks.clear()
            self._stacks[key] = known
        return known


def _leaves(callee: str, call: str) -> tuple[tuple[str, str], ...]:
    """Name and file of what is no Python code: the function called, the system call inside it."""
    leaves = ((callee, callees.FILE),) if callee else ()
    return leaves + (((call, blocked.FILE),) if call else ())


def _shortened(named: list[_Named]) -> list[_Named]:
    """The innermost frames, and of the outer ones those of the program rather than of packages."""
    inner, outer = named[:_INNERMOST], named[_INNERMOST:]
    own = [one for one in outer if files.is_program(one[1][0].co_filename)]
    return inner + (own or outer)[-(_MAX_DEPTH - _INNERMOST) :]


def watch_current_thread(most: int = 0) -> None:
    """Has the stacks of the calling thread sampled from now on, unless so many are already."""
    import _thread

    identity = _thread.get_ident()
    if identity in watched or not most or len(watched) < most:
        # a new thread may have the identity of one that has ended since the last sample
        watched[identity] = recorder.native_thread_id()


def move(rec: recorder.Recorder) -> None:
    """Samples the calling thread as the one that runs the program."""
    noted.stop(rec)
    watch_current_thread()


def possible_hz(rec: recorder.Recorder | None = None) -> float:
    """Samples a second that the user asked for and a thread can take, 0 none."""
    hz = requested_hz()
    if hz > 0 and not recorder.has_address_space(_THREAD_BYTES, rec):
        agent_notes.add("no stack samples: the address space of the process is limited (ulimit -v)")
        return 0.0
    return hz


sampler: Sampler | None = None


def start(first: Callable[[], None], later: Callable[[Any], None] | None = None) -> None:
    """Starts sampling the main thread; `first` runs once in the sampler thread after a moment.

    `later` does so after half a minute, in programs that live so long; it is given the lock that
    keeps forks away, to be held only for what a fork must not catch half done.
    """
    global sampler
    hz = statistics["hz"] = possible_hz()
    if hz <= 0:
        first()
        return
    rec = recorder.functions()
    if rec is None:
        return
    watched[recorder.main_thread] = os.getpid()
    recorder.on_move = move
    sampler = Sampler(hz, rec, first, later)
    sampler.start()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    statistics.update(hz=0.0, samples=0, cpu_ns=0)
    watched.clear()
    lock_looks.forget()
    small_calls.forget()
    del with_each_sample[:]


def stop() -> None:
    """Stops sampling; safe to call twice."""
    global sampler
    if sampler is not None:
        stopping, sampler = sampler, None
        stopping.stop()
