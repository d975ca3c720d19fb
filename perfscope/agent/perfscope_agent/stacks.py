"""Samples Python stacks at most ten times a second, so that unlabeled time gets a name."""

from __future__ import annotations

import gc
import os
import sys
import time

from . import blocked, callees, files, notes, python_objects, recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable

_MAX_HZ = 10.0
_MAX_DEPTH = 62  # of Python frames; two more may say what the innermost one calls
_INNERMOST = 48
_MAX_WALK = 1000
_MAX_CACHED = 20000
_GOLDEN = 0.6180339887
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
"""What else is looked at as often as the stacks; must not raise."""

watched: dict[int, int] = {}
"""Threads to sample: Python identity -> kernel thread id."""


class Sampler:
    """The sampling thread; started and stopped by the main thread."""

    def __init__(
        self, hz: float, first: Callable[[], None], later: Callable[[Any], None] | None = None
    ) -> None:
        import _thread

        self._period_s = 1.0 / hz
        self._first = first
        self._later = later
        self._later_s = time.monotonic() + _LATER_S
        self._wake = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        # Held by whoever must not be interrupted by a fork: a child would inherit half-made state.
        self.busy = _thread.allocate_lock()
        self._names: dict[tuple[CodeType, int], int] = {}
        self._leaf_names: dict[tuple[str, str], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._directory = os.getcwd()

    def start(self) -> None:
        """Starts the thread; `threading` does not know it, so the program counts only its own."""
        import _thread

        self._wake.acquire()
        self._done.acquire()
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Ends the thread and waits for it, one second at most."""
        if self._wake.locked():
            self._wake.release()
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
        thread_id = recorder.native_thread_id()
        told = False
        count = 0
        # The waits vary, or a loop of the same period would always be caught at the same line.
        while not self._wake.acquire(True, self._period_s * (1.0 + 0.5 * (count * _GOLDEN % 1.0))):
            count += 1
            if self._later is not None and time.monotonic() >= self._later_s:
                self._later_s = float("inf")
                self._later(self.busy)
            with self.busy:
                if count == 1:
                    self._first()
                rec = recorder.current
                if rec is None:
                    continue
                if not told and thread_id:
                    rec.ignore_thread(thread_id)
                    told = True
                self._sample(rec)
                python_objects.sample(rec)
                for look in with_each_sample:
                    look()
            statistics["samples"] = count
            statistics["cpu_ns"] = time.thread_time_ns() if hasattr(time, "thread_time_ns") else 0

    def _sample(self, rec: recorder.Recorder) -> None:
        is_held = _IS_FRAGILE and gc.isenabled()
        if is_held:
            gc.disable()
        try:
            walks = _walks()
        finally:
            if is_held:
                gc.enable()
        for thread_id, places, callee in walks:
            stack = self._stack(rec, places, _leaves(thread_id, callee))
            if stack:
                rec.stack_sample(thread_id, stack)

    def _stack(
        self,
        rec: recorder.Recorder,
        places: list[tuple[CodeType, int]],
        leaves: tuple[tuple[str, str], ...],
    ) -> int:
        """The id of the stack of these places and of what they call, 0 without any place."""
        if len(places) > _MAX_DEPTH:
            places = _shortened(places)
        key = tuple(self._name(rec, place) for place in reversed(places))
        key += tuple(self._leaf(rec, leaf) for leaf in leaves)
        known = self._stacks.get(key)
        if known is None and places:
            known = rec.stack(list(key))
            if len(self._stacks) >= _MAX_CACHED:
                self._stacks.clear()
            self._stacks[key] = known
        return known or 0

    def _name(self, rec: recorder.Recorder, place: tuple[CodeType, int]) -> int:
        known = self._names.get(place)
        if known is None:
            code, line = place
            file = code.co_filename
            if file[:1] not in ("/", "<"):
                file = os.path.normpath(os.path.join(self._directory, file))
            function = getattr(code, "co_qualname", code.co_name)
            known = rec.place(function, file, line)
            if len(self._names) >= _MAX_CACHED:
                self._names.clear()
            self._names[place] = known
        return known

    def _leaf(self, rec: recorder.Recorder, leaf: tuple[str, str]) -> int:
        known = self._leaf_names.get(leaf)
        if known is None:
            known = self._leaf_names[leaf] = rec.place(*leaf, 0)
        return known


def _leaves(thread_id: int, callee: str) -> tuple[tuple[str, str], ...]:
    """Name and file of what is no Python code: the function called, the system call inside it."""
    call = blocked.system_call(thread_id)
    leaves = ((callee, callees.FILE),) if callee else ()
    return leaves + (((call, blocked.FILE),) if call else ())


def _walks() -> list[tuple[int, list[tuple[CodeType, int]], str]]:
    """Kernel id, places and callee of each watched thread; no other thread goes on meanwhile."""
    frames = sys._current_frames()
    walks = []
    try:
        for identity, thread_id in list(watched.items()):
            frame = frames.get(identity)
            if frame is not None:
                walks.append((thread_id, _walk(frame), _callee(frame)))
            elif identity != recorder.main_thread:
                watched.pop(identity, None)
    finally:
        # This frame is among them: a cycle that would keep the program's objects alive.
        frames.clear()
    return walks


def _callee(frame: FrameType) -> str:
    is_own = frame.f_code.co_filename.startswith(files.AGENT)
    return "" if is_own else callees.called(frame)


def _walk(frame: FrameType | None) -> list[tuple[CodeType, int]]:
    """The places of a frame and of those that called it, without the agent's, innermost first."""
    places: list[tuple[CodeType, int]] = []
    while frame is not None and len(places) < _MAX_WALK:
        code = frame.f_code
        if not code.co_filename.startswith(files.AGENT):
            places.append((code, frame.f_lineno or 0))
        frame = frame.f_back
    return places


def _shortened(places: list[tuple[CodeType, int]]) -> list[tuple[CodeType, int]]:
    """The innermost frames, and of the outer ones those of the program rather than of packages."""
    inner, outer = places[:_INNERMOST], places[_INNERMOST:]
    own = [place for place in outer if files.is_program(place[0].co_filename)]
    return inner + (own or outer)[-(_MAX_DEPTH - _INNERMOST) :]


def block_signals() -> None:
    """Leaves every signal to the program's own threads."""
    # `signal` would import enum; 32 and 33 belong to the C library, and a page of a record file
    # that cannot be written is met by SIGBUS, which must not be blocked then.
    signal = sys.modules.get("_signal") or __import__("_signal")
    kept = (32, 33, signal.SIGBUS)
    signal.pthread_sigmask(signal.SIG_BLOCK, [n for n in range(1, 65) if n not in kept])


def requested_hz() -> float:
    """Samples a second that the user asked for, 0 off, never above ten."""
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
    watched[recorder.main_thread] = os.getpid()
    sampler = Sampler(hz, first, later)
    sampler.start()


def stop() -> None:
    """Stops sampling; safe to call twice."""
    global sampler
    if sampler is not None:
        stopping, sampler = sampler, None
        stopping.stop()
