"""Which lines of one rank keep memory, on request: by memray, tracemalloc or memory_profiler.

What was allocated in a window of time and not given back by its end is kept. Windows follow each
other and double in length, so that one of them lies behind the warm-up, and so that a rank that is
killed has left the earlier ones. The window that the end of the program closes tells least: by then
most of what was kept has been given back. Each is reduced to its largest places when it ends.
"""

from __future__ import annotations

import os
import time

from . import metadata, notes, own_threads, recorder, roles
from .kinds import Any

VARIABLE = "PERFSCOPE_MEMORY_DETAIL"
ENDING = ".memory.json"
SCHEMA = 1
FIRST_WINDOW_S = 1.0
MOST_PLACES = 60
MOST_FRAMES = 32
TRACED_FRAMES = 12
"""Of tracemalloc, which walks them in each allocation."""

_END_S = 5.0

_watch: Watch | None = None


class _Tracemalloc:
    """Python's own allocations, numpy's arrays among them; what C libraries take is not seen."""

    name = "tracemalloc"

    def __init__(self) -> None:
        import tracemalloc

        self._tracemalloc = tracemalloc
        if tracemalloc.is_tracing():
            raise RuntimeError("the program uses tracemalloc itself")

    def begin(self) -> None:
        """Starts to trace; what was allocated before is not known."""
        self._tracemalloc.start(TRACED_FRAMES)

    def end(self) -> dict[str, Any]:
        """Stops, and reduces what is still allocated to its largest places."""
        snapshot = self._tracemalloc.take_snapshot()
        self._tracemalloc.stop()
        # Its own statistics make an object of each allocation and would hold up the program.
        found: dict[int, list[Any]] = {}
        traces: Any = snapshot.traces
        for trace in traces._traces:
            frames = trace[2]
            known = found.setdefault(id(frames), [0, 0, frames])
            known[0] += trace[1]
            known[1] += 1
        places = sorted(found.values(), key=lambda place: -place[0])
        return {
            "kept_bytes": sum(place[0] for place in places),
            "count": sum(place[1] for place in places),
            "places": [_place(*place) for place in places[:MOST_PLACES]],
        }


def _place(size: int, count: int, frames: Any) -> dict[str, Any]:
    """Bytes kept, allocations, and the stack, innermost frame first; it knows no functions."""
    return {"bytes": size, "count": count, "stack": [["", file, line] for file, line in frames]}


class Watch:
    """Windows one after the other, from a thread of its own, until the program ends."""

    def __init__(self, base: str, engine: str) -> None:
        import _thread

        self._base = base
        self._wanted = engine
        self._engine: Any = None
        self._wake = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self.state: dict[str, Any] = {
            "schema": SCHEMA,
            "pid": os.getpid(),
            "engine": "",
            "is_growth": engine == "memory_profiler",
            "windows": [],
            "reason": None,
        }

    def start(self) -> None:
        """Starts the thread; `threading` does not know it."""
        import _thread

        self._write()  # also of a rank that ends before its first window does
        self._attempt(self._choose)
        self._attempt(self._rehearse)
        self._wake.acquire()
        self._done.acquire()
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Ends the window that is open, and waits for its result a few seconds at most."""
        if self._wake.locked():
            self._wake.release()
            self._done.acquire(True, _END_S)
        self.leave()

    def leave(self) -> None:
        """Leaves the thread that called alone; its forked child needs no more than that."""
        close = getattr(self._engine, "close", None)
        if close is not None:
            close()

    def _run(self) -> None:
        own_threads.enter()
        self._attempt(self._watch_from_here)
        try:
            self._write()
        except Exception as error:
            notes.failure("memory detail not written", error)
        own_threads.leave()
        self._done.release()

    def _attempt(self, do: Any) -> None:
        """Does it; a failure is the reason why nothing is told."""
        try:
            do()
        except Exception as error:
            notes.failure("memory detail", error)
            if self.state["reason"] is None:
                self.state["reason"] = "%s: %s" % (type(error).__name__, str(error)[:200])

    def _watch_from_here(self) -> None:
        own_threads.block_signals()
        rec = recorder.current
        thread_id = recorder.native_thread_id()
        if rec is not None and thread_id:
            rec.ignore_thread(thread_id)
        if self._engine is not None:
            self._loop()

    def _rehearse(self) -> None:
        """Opens and closes a window here: what that imports is there before the thread starts."""
        if self._engine is not None:
            self._engine.begin()
            self._engine.end()

    def _choose(self) -> None:
        try:
            self._engine = self._made()
        except ImportError:
            self.state["reason"] = (
                "%s is not installed in the environment of the job: pip install %s, or ask "
                "for RANK:tracemalloc, which slows the rank down more"
            ) % ((self._wanted or "memray",) * 2)
            raise
        self.state["engine"] = self._engine.name

    def _made(self) -> Any:
        if self._wanted == "tracemalloc":
            return _Tracemalloc()
        if self._wanted == "memory_profiler":
            from .frameworks.memory_profiler import MemoryProfiler

            return MemoryProfiler(MOST_PLACES)
        from .frameworks.memray import Memray

        return Memray("%s.memory-%d.tmp" % (self._base, os.getpid()), MOST_PLACES, MOST_FRAMES)

    def _loop(self) -> None:
        seconds = FIRST_WINDOW_S
        is_over = False
        while not is_over:
            begin_ns = time.monotonic_ns()
            self._engine.begin()
            is_over = self._wake.acquire(True, seconds)
            end_ns = time.monotonic_ns()
            window = self._engine.end()
            window.update(begin_ns=begin_ns, end_ns=end_ns, is_last=is_over)
            self.state["windows"].append(window)
            self._write()
            seconds *= 2

    def _write(self) -> None:
        path = self._base + ENDING
        # As the metadata is: `json` would import `re` into the program.
        with open(path + ".new", "w", encoding="ascii") as stream:
            stream.write(metadata.encode(metadata.without_secrets(self.state)))
        os.replace(path + ".new", path)


def start() -> None:
    """Starts the watch where this process is the rank that was asked for."""
    global _watch
    # The thread that imports it first is its main thread, for which the interpreter waits at exit.
    import threading  # noqa: F401

    number, _, engine = os.environ.get(VARIABLE, "").partition(":")
    rank, _ = roles.rank_and_size()
    if not number.isdigit() or int(number) != max(rank, 0):
        return
    rec = recorder.activate()
    if rec is None:
        return
    _watch = Watch(os.fsdecode(rec.base_path()), engine)
    _watch.start()


def finish() -> None:
    """At exit: ends the open window."""
    global _watch
    if _watch is not None:
        watch, _watch = _watch, None
        watch.stop()


def forget() -> None:
    """In a forked child: the watch belongs to the parent."""
    global _watch
    if _watch is not None:
        watch, _watch = _watch, None
        watch.leave()
