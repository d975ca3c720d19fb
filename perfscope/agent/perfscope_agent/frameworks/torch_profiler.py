"""PyTorch's own profiler for a window of steps, on request: one trace beside a rank's records."""

from __future__ import annotations

import os
import sys

from .. import metadata, notes, recorder
from ..kinds import Any

VARIABLE = "PERFSCOPE_TORCH_PROFILER"
ENDING = ".torch-trace.json.gz"


class Window:
    """The steps to profile, counted by those of the optimizer that stepped first."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._done = 0
        self._key = 0
        self._profiler: Any = None
        self._is_over = False

    def begins_step(self) -> None:
        """A batch is requested or gradients are: the window may begin with the first step."""
        if not self._is_over and self._profiler is None and self._done >= self._first:
            self._guarded(self._start)

    def ends_step(self, key: int) -> None:
        """An optimizer step is over."""
        self._key = self._key or key
        if self._is_over or key != self._key:
            return
        self._done += 1
        if self._done > self._last:
            self.close()
        else:
            self.begins_step()

    def close(self) -> None:
        """Stops the profiler and writes its trace; before its time when the program ends."""
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            self._is_over = True
            self._guarded(self._write, profiler)

    def _guarded(self, action: Any, *arguments: Any) -> None:
        rec = recorder.current
        if rec is None:
            return
        begin_ns = rec.now()
        try:
            action(*arguments)
        except Exception as error:
            self._is_over = True
            notes.failure("torch profiler", error)
        # Neither starting it nor writing is the program's own work.
        name = rec.name("torch profiler")
        rec.phase(
            recorder.Phase.USER, name, recorder.NO_STEP, recorder.NO_EPOCH, begin_ns, rec.now()
        )

    def _start(self) -> None:
        profiler = sys.modules["torch"].profiler.profile()
        profiler.start()
        self._profiler = profiler

    def _write(self, profiler: Any) -> None:
        profiler.stop()
        rec = recorder.current
        assert rec is not None
        path = os.fsdecode(rec.base_path()) + ENDING
        profiler.export_chrome_trace(path)
        metadata.framework(
            "torch",
            profiler={
                "first_step": self._first,
                "steps": self._done - self._first,
                "file": _name(path),
            },
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def requested() -> Window | None:
    """The window that the user asked for, None without one."""
    first, separator, last = os.environ.get(VARIABLE, "").partition(":")
    if not separator or not first.isdigit() or not last.isdigit():
        return None
    return Window(int(first), int(last))
