"""memory_profiler's reading of memory, line by line, for `memory_detail`.

It decorates functions with `@profile`; here all lines of the program's own files are watched in the
main thread, and what the process grows by belongs to the line that ran, not to those that called.
"""

from __future__ import annotations

import sys

from .. import files
from ..kinds import Any, FrameType

_MIB = 1 << 20


class MemoryProfiler:
    """Follows the thread that makes it, from the next function that it enters.

    Raises:
        ImportError: memory_profiler is not installed.
        RuntimeError: the thread is traced by something else.
    """

    def __init__(self, most_places: int) -> None:
        import memory_profiler

        if sys.gettrace() is not None:
            raise RuntimeError("the program is traced already, by a debugger or for coverage")
        self._read: Any = memory_profiler._get_memory
        self._backend = memory_profiler.choose_backend("psutil")
        self._most_places = most_places
        self._is_own: dict[str, bool] = {}
        self._lines: dict[tuple[str, str, int], list[int]] = {}
        self._line: tuple[str, str, int] | None = None
        self._bytes = self._first = self._memory()
        self.name = "memory_profiler %s" % getattr(memory_profiler, "__version__", "")
        sys.settrace(self._enter)

    def begin(self) -> None:
        """A window begins; the one before has been taken."""
        self._first = self._memory()

    def end(self) -> dict[str, Any]:
        """What the process grew by, and the lines that it grew by most at."""
        lines, self._lines = self._lines, {}
        grown = sorted(lines.items(), key=lambda line: -line[1][0])
        places = [
            {"bytes": size, "count": count, "stack": [list(line)]}
            for line, (size, count) in grown[: self._most_places]
            if size > 0
        ]
        return {
            "kept_bytes": max(0, self._memory() - self._first),
            "count": sum(count for _, (_, count) in grown),
            "places": places,
        }

    def close(self) -> None:
        """Stops following the thread, unless something else follows it by now."""
        if sys.gettrace() == self._enter:
            sys.settrace(None)

    def _memory(self) -> int:
        return int(self._read(-1, self._backend) * _MIB)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A function is entered: its lines count where it is the program's own."""
        file = frame.f_code.co_filename
        is_own = self._is_own.get(file)
        if is_own is None:
            is_own = self._is_own[file] = files.is_program(file)
        return self._step(frame, event, arg) if is_own else None

    def _step(self, frame: FrameType, event: str, _arg: Any) -> Any:
        """What the process grew by since the last step belongs to the line that ran until now."""
        try:
            memory = self._memory()
            line, grown = self._line, memory - self._bytes
            if line is not None and grown:
                known = self._lines.setdefault(line, [0, 0])
                known[0] += grown
                known[1] += grown > 0
            self._bytes = memory
            at = frame.f_back if event == "return" else frame
            self._line = (
                None if at is None else (at.f_code.co_name, at.f_code.co_filename, at.f_lineno)
            )
        except Exception:
            return None  # an error here would be one of the program
        return self._step
