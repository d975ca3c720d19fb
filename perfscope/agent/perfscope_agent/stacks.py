"""Samples Python stacks at most 50 times a second, so that unlabeled time gets a name."""

from __future__ import annotations

import gc
import os
import sys
import time

from . import blocked, busy_threads, callees, files, garbage, noted, notes, python_objects, recorder
from .pace import Pace
from .places import OWN, Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable, Tuple

    _Named = Tuple[int, Tuple[CodeType, int]]

_MAX_HZ = 50.0
_FIRST_S = 0.1  # what runs for less is left alone
_OTHERS_S = 0.1  # between looks at what is not stacks
_MAX_DEPTH = 62  # of Python frames; two more may say what the innermost one calls
_INNERMOST = 48
_MAX_WALK = 1000
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
"""What else is looked at some ten times a second; must not raise."""

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
    ) -> None:
        import _thread

        self._library = rec
        self._pace = Pace(hz)
        self._first = first
        self._later = later
        self._later_s = time.monotonic() + _LATER_S
        self._done = _thread.allocate_lock()
        # Held by whoever must not be interrupted by a fork: a child would inherit half-made state.
        self.busy = _thread.allocate_lock()
        self._places = Places()
        self._stacks: dict[tuple[int, ...], int] = {}

    def start(self) -> None:
        """Starts the thread; `threading` does not know it, so the program counts only its own."""
        import _thread

        self._done.acquire()
        noted.start(self._library)
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Ends the thread and waits for it, one second at most."""
        self._library.stack_notes_stop()
        self._done.acquire(True, 1.0)

    def _run(self) -> None:
        try:
            block_signals()
            self._loop()
        except Exception as error:
            notes.failure("stack sampler stopped", error)
        finally:
            self._done.release()

    def _loop(self) -> None:
        begin_s = due_s = time.monotonic()
        count, others_s, told = 0, 0.0, False
        noted_ns = 0  # what the main thread took for it
        while True:
            wait_s = self._pace.wait_s() if count else _FIRST_S
            # Not from the end of the last look: some code lets it wait for the lock.
            now_s, due_s = time.monotonic(), due_s + wait_s
            if due_s < now_s:
                due_s = now_s + wait_s
            if self._library.stack_notes_wait(int((due_s - now_s) * 1e9)):
                return
            now_s, note = time.monotonic(), noted.take(self._library)
            count += 1
            noted_ns += note[1] if note else 0
            if self._later is not None and now_s >= self._later_s:
                self._later_s = float("inf")
                self._later(self.busy)
            with self.busy:
                if count == 1:
                    self._first()
                rec = recorder.current
                if rec is None:
                    continue
                told = told or self._tell(rec)
                before_ns = time.thread_time_ns()
                self._sample(rec, note, due_s)
                cost_ns = time.thread_time_ns() - before_ns + (note[1] if note else 0)
                self._pace.looked(cost_ns / 1e9, now_s - begin_s)
                if now_s - others_s >= _OTHERS_S:
                    others_s = now_s
                    _look_at_others(rec)
            statistics["samples"] = count
            statistics["cpu_ns"] = time.thread_time_ns() + noted_ns

    def _tell(self, rec: recorder.Recorder) -> bool:
        """Has this thread left out of what is counted of the program."""
        thread_id = recorder.native_thread_id()
        if thread_id:
            rec.ignore_thread(thread_id)
        return True

    def _sample(self, rec: recorder.Recorder, note: noted.Note | None, due_s: float) -> None:
        is_held = _IS_FRAGILE and gc.isenabled()
        if is_held:
            gc.disable()
        try:
            walks = _walks(rec, note)
        finally:
            if is_held:
                gc.enable()
        now_ns = rec.now()
        for thread_id, places, callee in walks:
            is_noted = note is not None and places is note[2]
            leaves = _leaves(0 if is_noted else thread_id, callee)
            stack = self._stack(rec, places, leaves)
            if stack:
                at_ns = note[0] if note is not None and is_noted else now_ns
                self._write(rec, thread_id, stack, (at_ns, at_ns / 1e9 - due_s))

    def _write(
        self, rec: recorder.Recorder, thread_id: int, stack: int, seen: tuple[int, float]
    ) -> None:
        """Writes what was seen, also for the looks that it has delayed.

        A look waits while C code keeps the interpreter's lock. Were it to count once, what such
        code takes would seem shorter than what lets others look.
        """
        at_ns, late_s = seen
        missed = self._pace.made_up(late_s)
        for place in range(missed, -1, -1):
            rec.stack_sample(thread_id, stack, at_ns - int(late_s * 1e9 * place / (missed + 1)))

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


def _look_at_others(rec: recorder.Recorder) -> None:
    python_objects.sample(rec)
    garbage.tick()
    busy_threads.look(rec.now(), watched)
    for look in with_each_sample:
        look()


def _leaves(thread_id: int, callee: str) -> tuple[tuple[str, str], ...]:
    """Name and file of what is no Python code: the function called, the system call inside it."""
    call = blocked.system_call(thread_id) if thread_id else ""
    leaves = ((callee, callees.FILE),) if callee else ()
    return leaves + (((call, blocked.FILE),) if call else ())


def _walks(
    rec: recorder.Recorder, note: noted.Note | None
) -> list[tuple[int, list[tuple[CodeType, int]], str]]:
    """Kernel id, places and callee of each watched thread; no other thread goes on meanwhile."""
    walks = []
    main = recorder.main_thread
    if note is not None and main in watched:
        code, last = note[2][0]
        is_own = code.co_filename.startswith(files.AGENT)
        callee = "" if is_own else callees.known(code, last)
        if callee is not None and len(watched) == 1:
            return [(watched[main], note[2], callee)]
    frames = rec.look_at_all(sys._current_frames)
    if frames is None:
        notes.add("only noted stacks were kept while the process had several interpreters")
        return [(watched[main], note[2], callee or "")] if note and main in watched else []
    try:
        for identity, thread_id in list(watched.items()):
            frame = frames.get(identity)
            if frame is None:
                if identity != main:
                    watched.pop(identity, None)
            elif note is not None and identity == main:
                if callee is None:
                    callee = callees.called_before(code, last, frame)
                walks.append((thread_id, note[2], callee))
            else:
                walks.append((thread_id, _walk(frame), _callee(frame)))
    finally:
        # This frame is among them: a cycle that would keep the program's objects alive.
        frames.clear()
    return walks


def _callee(frame: FrameType) -> str:
    is_own = frame.f_code.co_filename.startswith(files.AGENT)
    return "" if is_own else callees.called(frame)


def _walk(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """Where a frame and those that called it are: code and instruction, innermost first."""
    places: list[tuple[CodeType, int]] = []
    while frame is not None and len(places) < _MAX_WALK:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return places


def _shortened(named: list[_Named]) -> list[_Named]:
    """The innermost frames, and of the outer ones those of the program rather than of packages."""
    inner, outer = named[:_INNERMOST], named[_INNERMOST:]
    own = [one for one in outer if files.is_program(one[1][0].co_filename)]
    return inner + (own or outer)[-(_MAX_DEPTH - _INNERMOST) :]


def block_signals() -> None:
    """Leaves every signal to the program's own threads."""
    # `signal` would import enum; 32 and 33 belong to the C library, and a page of a record file
    # that cannot be written is met by SIGBUS, which must not be blocked then.
    signal = sys.modules.get("_signal") or __import__("_signal")
    kept = (32, 33, signal.SIGBUS)
    signal.pthread_sigmask(signal.SIG_BLOCK, [n for n in range(1, 65) if n not in kept])


def requested_hz() -> float:
    """Samples a second that the user asked for, 0 off, never above the most that are taken."""
    try:
        return max(0.0, min(_MAX_HZ, float(os.environ.get("PERFSCOPE_STACK_HZ", "") or _MAX_HZ)))
    except ValueError:
        notes.add("PERFSCOPE_STACK_HZ is not a number")
        return _MAX_HZ


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


sampler: Sampler | None = None


def start(first: Callable[[], None], later: Callable[[Any], None] | None = None) -> None:
    """Starts sampling the main thread; `first` runs once in the sampler thread after a moment.

    `later` does so after half a minute, in programs that live so long; it is given the lock that
    keeps forks away, to be held only for what a fork must not catch half done.
    """
    global sampler
    hz = requested_hz()
    if hz > 0 and not recorder.has_address_space(_THREAD_BYTES):
        notes.add("no stack samples: the address space of the process is limited (ulimit -v)")
        hz = 0.0
    statistics["hz"] = hz
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
    del with_each_sample[:]


def stop() -> None:
    """Stops sampling; safe to call twice."""
    global sampler
    if sampler is not None:
        stopping, sampler = sampler, None
        stopping.stop()
