"""TensorFlow's own profiler for a window of steps, on request: one directory beside the records."""

from __future__ import annotations

import os
import sys

from .. import metadata, notes, recorder, steps
from ..kinds import Any

VARIABLE = "PERFSCOPE_TF_PROFILER"
ENDING = ".tf-profile"


class Window:
    """The steps to profile, by the numbers that the report gives them."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._profiler: Any = None
        self._is_over = False

    def begins_step(self) -> None:
        """Training goes on: the window may begin here, or be over."""
        number = steps.last_number + 1
        if self._is_over or number < self._first:
            return
        if self._profiler is None:
            self._guarded(self._start)
        elif number > self._last:
            self.close()

    def close(self) -> None:
        """Stops the profiler, which writes what it has; before its time when the program ends."""
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            self._is_over = True
            self._guarded(profiler.stop)

    def _guarded(self, action: Any) -> None:
        rec = recorder.current
        if rec is None:
            return
        begin_ns = rec.now()
        try:
            action()
        except Exception as error:
            self._is_over = True
            notes.failure("TensorFlow profiler", error)
        # Neither starting it nor writing is the program's own work.
        name = rec.name("TensorFlow profiler")
        rec.phase(
            recorder.Phase.USER, name, recorder.NO_STEP, recorder.NO_EPOCH, begin_ns, rec.now()
        )

    def _start(self) -> None:
        rec = recorder.current
        assert rec is not None
        profiler = sys.modules["tensorflow"].profiler.experimental
        place = os.fsdecode(rec.base_path()) + ENDING
        profiler.start(place)
        self._profiler = profiler
        metadata.framework(
            "tensorflow",
            profiler={
                "first_step": self._first,
                "last_step": self._last,
                "directory": place.rpartition("/")[2],
            },
        )


def _requested() -> Window | None:
    """The window that the user asked for, None without one."""
    first, separator, last = os.environ.get(VARIABLE, "").partition(":")
    if not separator or not first.isdigit() or not last.isdigit():
        return None
    return Window(int(first), int(last))


window = _requested()


def begins_step() -> None:
    """A training step, or a part of one, begins."""
    if window is not None:
        window.begins_step()


def finish() -> None:
    """At exit: ends a window that is still open."""
    if window is not None:
        window.close()
